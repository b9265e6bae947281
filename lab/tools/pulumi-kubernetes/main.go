// Command pulumi-resource-kubernetes is Pulumi's plugin for Kubernetes, from its own module: that module's main embeds
// a copy of its schema that is made at a release and is in no module. This one reads the schema beside the program.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

func main() {
	schema, err := schemaBeside()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	provider.Serve("kubernetes", version.Version, schema, []byte("{}"))
}

// schemaBeside is the schema with the version that the publisher's release writes into it.
func schemaBeside() ([]byte, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	schema, err := os.ReadFile(filepath.Join(filepath.Dir(own), "schema.json"))
	if err != nil || len(schema) == 0 {
		return nil, fmt.Errorf("schema.json belongs beside %s: %w", own, err)
	}
	number := strings.TrimPrefix(version.Version, "v")
	return append([]byte(fmt.Sprintf(`{"version":%q,`, number)), schema[1:]...), nil
}
