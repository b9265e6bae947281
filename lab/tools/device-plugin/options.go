package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	// countVariable overrides the count that the lab left for this machine.
	countVariable = "GPU_COMMONS_STAND_IN_GPUS"
	// countFile is relative to the kubelet's plugin folder, the one mount that every device plugin has.
	// The kubelet removes only sockets from that folder when it starts.
	countFile = "gpu-commons/gpus"
	maxGPUs   = 64
)

// The flags of nvidia-device-plugin v0.17.1. All are accepted, each also as an environment variable, so that a
// DaemonSet written for the real image starts here; those not named in options have no effect without a GPU.
var flagsWithValue = []string{
	"mig-strategy", "nvidia-driver-root", "driver-root", "dev-root", "device-list-strategy", "device-id-strategy",
	"config-file", "cdi-annotation-prefix", "nvidia-cdi-hook-path", "nvidia-ctk-path", "driver-root-ctr-path",
	"container-driver-root", "mps-root", "device-discovery-strategy", "imex-channel-ids", "kubelet-socket",
}

var switches = []string{
	"fail-on-init-error", "pass-device-specs", "gdrcopy-enabled", "gds-enabled", "mofed-enabled", "imex-required",
	"cdi-feature-flags", "use-node-feature-api",
}

type options struct {
	kubeletSocket   string
	idStrategy      string // uuid or index
	failOnInitError bool
	count           func() (int, error)
}

// parseOptions reads arguments, then the environment, as the real program does. Unknown flags are an error there too.
func parseOptions(args []string, lookup func(string) (string, bool)) (options, error) {
	set := flag.NewFlagSet("nvidia-device-plugin", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	values := map[string]*string{}
	defaults := map[string]string{"kubelet-socket": pluginapi.KubeletSocket, "device-id-strategy": "uuid"}
	for _, name := range flagsWithValue {
		values[name] = set.String(name, fromEnvironment(name, defaults[name], lookup), "")
	}
	flags := map[string]*bool{}
	for _, name := range switches {
		text := fromEnvironment(name, strconv.FormatBool(name == "fail-on-init-error"), lookup)
		value, err := strconv.ParseBool(text)
		if err != nil {
			return options{}, fmt.Errorf("%s: %q is not true or false", environmentName(name), text)
		}
		flags[name] = set.Bool(name, value, "")
	}
	if err := set.Parse(args); err != nil {
		return options{}, fmt.Errorf("%w; nvidia-device-plugin v0.17.1 knows: --%s", err, strings.Join(known(), " --"))
	}
	ids := *values["device-id-strategy"]
	if ids != "uuid" && ids != "index" {
		return options{}, fmt.Errorf("--device-id-strategy: %q is not uuid or index", ids)
	}
	for _, name := range []string{"config-file", "mig-strategy"} {
		if value := *values[name]; value != "" && value != "none" {
			log.Printf("--%s %s has no effect: the stand-in neither shares nor partitions a GPU", name, value)
		}
	}
	socket := *values["kubelet-socket"]
	return options{
		kubeletSocket:   socket,
		idStrategy:      ids,
		failOnInitError: *flags["fail-on-init-error"],
		count:           func() (int, error) { return countGPUs(filepath.Dir(socket), lookup) },
	}, nil
}

// countGPUs says how many GPUs the node is to report: the lab knows it from the stack's fleet.
func countGPUs(folder string, lookup func(string) (string, bool)) (int, error) {
	source := countVariable
	text, found := lookup(countVariable)
	if !found {
		source = filepath.Join(folder, countFile)
		content, err := os.ReadFile(source)
		if err != nil {
			return 0, fmt.Errorf("no GPU count: neither the variable %s nor the file %s is there", countVariable, source)
		}
		text = string(content)
	}
	count, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || count < 0 || count > maxGPUs {
		return 0, fmt.Errorf("%s: %q is not a number of GPUs from 0 to %d", source, strings.TrimSpace(text), maxGPUs)
	}
	return count, nil
}

func fromEnvironment(name, fallback string, lookup func(string) (string, bool)) string {
	if value, found := lookup(environmentName(name)); found {
		return value
	}
	return fallback
}

func environmentName(name string) string {
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func known() []string {
	names := append(append([]string{}, flagsWithValue...), switches...)
	sort.Strings(names)
	return names
}
