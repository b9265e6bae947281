package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/proto"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge/info"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge/tokens"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfgen"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/spf13/afero"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// version is that of the SDK whose names these are.
const version = "5.2.0"

// description is the provider under the SDK's names, where they are not those that the bridge makes by itself.
func description(ctx context.Context, provider tfprotov6.ProviderServer) (info.Provider, error) {
	described := info.Provider{
		P:            proto.New(ctx, provider),
		Name:         "docker",
		Version:      version,
		MetadataInfo: &info.Metadata{Data: tfbridge.ProviderMetadata(nil)},
		Config:       map[string]*info.Schema{"registry_auth": {Name: "registryAuth", MaxItemsOne: tfbridge.False()}},
		Resources: map[string]*info.Resource{
			"docker_config": {Tok: "docker:index/serviceConfig:ServiceConfig"},
			"docker_container": {
				// Its name and its ports are taken until the old one is gone.
				DeleteBeforeReplace: true,
				Fields: map[string]*info.Schema{
					"command":           {Name: "command"},
					"networks_advanced": {Name: "networksAdvanced"},
				},
			},
			"docker_image": {
				Tok:    "docker:index/remoteImage:RemoteImage",
				Fields: map[string]*info.Schema{"name": {Name: "name"}},
			},
		},
		DataSources: map[string]*info.DataSource{"docker_image": {Tok: "docker:index/getRemoteImage:getRemoteImage"}},
	}
	if err := described.ComputeTokens(
		tokens.SingleModule("docker_", "index", tokens.MakeStandard(described.Name))); err != nil {
		return described, err
	}
	described.SetAutonaming(255, "-")
	return described, nil
}

// schemaOf answers `pulumi package get-schema`.
func schemaOf(described info.Provider) func(context.Context, plugin.GetSchemaRequest) ([]byte, error) {
	return func(context.Context, plugin.GetSchemaRequest) ([]byte, error) {
		generator, err := tfgen.NewGenerator(tfgen.GeneratorOptions{
			Package:       described.Name,
			Version:       described.Version,
			Language:      tfgen.Schema,
			ProviderInfo:  described,
			Root:          afero.NewMemMapFs(),
			Sink:          diag.DefaultSink(os.Stderr, os.Stderr, diag.FormatOptions{Color: colors.Never}),
			XInMemoryDocs: true,
			SkipExamples:  true,
		})
		if err != nil {
			return nil, err
		}
		schema, err := generator.Generate()
		if err != nil {
			return nil, err
		}
		schema.PackageSpec.Version = described.Version
		return json.Marshal(schema.PackageSpec)
	}
}
