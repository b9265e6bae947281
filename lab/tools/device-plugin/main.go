// Command device-plugin is a stand-in for two programs of NVIDIA whose images a registry-only machine cannot pull.
// Its name at start decides: nvidia-persistenced is the persistence daemon, everything else the device plugin.
// So is sh: the pod of the persistence daemon starts the daemon of the host's driver by a shell script, and there is no
// such daemon on this machine.
// The device plugin really speaks the kubelet's API; no container ever gets a device, and both say so.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	log.SetFlags(log.LstdFlags | log.LUTC | log.Lmsgprefix)
	log.SetOutput(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, filepath.Base(os.Args[0]), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name string, args []string) error {
	if name == "nvidia-persistenced" || name == "sh" {
		log.SetPrefix("persistence daemon stand-in: ")
		log.Printf("stands for nvidia-persistenced in the lab of gpu-commons; there is no driver to keep loaded")
		log.Printf("%s was asked for %q", name, args)
		<-ctx.Done()
		log.Print("ended")
		return nil
	}
	log.SetPrefix("device plugin stand-in: ")
	options, err := parseOptions(args, os.LookupEnv)
	if err != nil {
		return err
	}
	return newPlugin(options).serve(ctx)
}
