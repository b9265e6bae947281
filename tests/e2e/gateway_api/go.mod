module gpu-commons.org/tests/gateway-api

go 1.24

require sigs.k8s.io/gateway-api v1.6.3
