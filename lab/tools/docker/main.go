// Command pulumi-resource-docker is Pulumi's docker plugin where the publisher's own cannot be had: Terraform's docker
// provider behind Pulumi's bridge, under the names that the SDK of pulumi-docker has. The provider is the program
// terraform-provider-docker in the folder of this one.
//
// The module is named below the bridge's, because the package that starts a provider is internal to it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/pulumi/pulumi-terraform-bridge/v3/dynamic/internal/shim/run"
	pfbridge "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge"
)

func main() {
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	provider, err := run.LocalProvider(ctx, filepath.Join(filepath.Dir(own), "terraform-provider-docker"))
	if err != nil {
		return fmt.Errorf("terraform-provider-docker, which belongs beside %s: %w", own, err)
	}
	defer provider.Close()
	closeAtSignal(provider)
	described, err := description(ctx, mended{provider})
	if err != nil {
		return err
	}
	pfbridge.Main(ctx, described.Name, described, pfbridge.ProviderMetadata{XGetSchema: schemaOf(described)})
	return nil
}

// closeAtSignal ends the provider with this program: the engine ends a plugin by SIGINT, and a provider ignores those.
func closeAtSignal(provider run.Provider) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		provider.Close()
		os.Exit(1)
	}()
}
