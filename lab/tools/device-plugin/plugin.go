package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	resourceName = "nvidia.com/gpu"
	socketName   = "nvidia-gpu.sock" // the real plugin's name
	lookEvery    = time.Second
)

// plugin serves one kubelet. A kubelet that starts removes every socket of the folder and makes a new one of its own:
// that is the sign to serve and register again.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	options
}

func newPlugin(options options) *plugin { return &plugin{options: options} }

func (p *plugin) socket() string { return filepath.Join(filepath.Dir(p.kubeletSocket), socketName) }

// serve runs until ctx ends, across restarts of the kubelet.
func (p *plugin) serve(ctx context.Context) error {
	count, err := p.count()
	switch {
	case err != nil && p.failOnInitError:
		return fmt.Errorf("%w; FAIL_ON_INIT_ERROR=false would wait for ever instead", err)
	case err != nil:
		log.Printf("%v; waiting for ever, as FAIL_ON_INIT_ERROR=false asks", err)
		<-ctx.Done()
		return nil
	}
	log.Printf("reports %d x %s; containers get NVIDIA_VISIBLE_DEVICES and no device", count, resourceName)
	for ctx.Err() == nil {
		if err := p.serveKubelet(ctx); err != nil {
			log.Printf("%v; trying again", err)
		}
		sleep(ctx, lookEvery)
	}
	log.Print("ended")
	return nil
}

// serveKubelet registers with the kubelet that is there now and returns when it is gone or replaced.
func (p *plugin) serveKubelet(ctx context.Context) error {
	kubelet, err := inode(p.kubeletSocket)
	if err != nil {
		return fmt.Errorf("no kubelet yet: %w", err)
	}
	if err := os.Remove(p.socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", p.socket())
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	defer server.Stop()
	pluginapi.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(listener) }()
	if err := p.register(ctx); err != nil {
		return fmt.Errorf("the kubelet refused the registration: %w", err)
	}
	log.Printf("registered %s with %s", resourceName, p.kubeletSocket)
	for sleep(ctx, lookEvery) {
		now, err := inode(p.kubeletSocket)
		if _, gone := os.Stat(p.socket()); err != nil || gone != nil || now != kubelet {
			log.Print("the kubelet was restarted")
			return nil
		}
	}
	return nil
}

func (p *plugin) register(ctx context.Context) error {
	connection, err := grpc.NewClient("unix:"+p.kubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err = pluginapi.NewRegistrationClient(connection).Register(ctx, &pluginapi.RegisterRequest{
		Version:      pluginapi.Version,
		Endpoint:     socketName,
		ResourceName: resourceName,
		Options:      &pluginapi.DevicePluginOptions{},
	})
	return err
}

// GetDevicePluginOptions asks for neither a call before each container nor a say in which GPUs go together.
func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

// ListAndWatch sends the devices at once and again whenever the lab changes the count.
func (p *plugin) ListAndWatch(_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	sent := -1
	for {
		count, err := p.count()
		if err != nil {
			count = max(sent, 0) // the lab is writing the file, or took it away: what was promised stays
		}
		if count != sent {
			if err := stream.Send(&pluginapi.ListAndWatchResponse{Devices: p.devices(count)}); err != nil {
				return err
			}
			log.Printf("told the kubelet of %d healthy GPUs", count)
			sent = count
		}
		if !sleep(stream.Context(), lookEvery) {
			return nil
		}
	}
}

// Allocate sets the variable that the real plugin sets by default. Nothing is mounted, no device node is passed.
func (p *plugin) Allocate(_ context.Context, request *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	response := &pluginapi.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		ids := strings.Join(container.DevicesIds, ",")
		log.Printf("allocated %s; no device is added to the container", ids)
		response.ContainerResponses = append(response.ContainerResponses, &pluginapi.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": ids},
		})
	}
	return response, nil
}

func (p *plugin) devices(count int) []*pluginapi.Device {
	devices := make([]*pluginapi.Device, count)
	for index := range devices {
		id := fmt.Sprintf("GPU-stand-in-%d", index)
		if p.idStrategy == "index" {
			id = fmt.Sprint(index)
		}
		devices[index] = &pluginapi.Device{ID: id, Health: pluginapi.Healthy}
	}
	return devices
}

func inode(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: no inode number on this system", path)
	}
	// Inode numbers are reused at once on some file systems; with the time of change the pair is not.
	return stat.Ino ^ uint64(stat.Ctim.Nano())<<1, nil
}

// sleep waits and says whether the work goes on.
func sleep(ctx context.Context, duration time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(duration):
		return true
	}
}
