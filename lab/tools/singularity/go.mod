module gpu-commons.org/lab/tools/singularity

go 1.26

require github.com/sylabs/singularity/v4 v4.3.3
