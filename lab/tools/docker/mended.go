package main

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/pulumi/pulumi-terraform-bridge/v3/dynamic/internal/shim/run"
)

// mended is the provider without two faults of version 3.100.0 of the bridge:
//
//   - A create that failed after it had made something (a container that never got healthy) answers with an error and
//     the state of what there is. The bridge drops that state, so nobody would ever remove it, and its name is taken.
//   - The bridge takes every call that the connection refuses for one that succeeded with an empty answer, unless the
//     provider is gone.
type mended struct{ run.Provider }

func (provider mended) ApplyResourceChange(
	ctx context.Context, request *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	answer, err := provider.Provider.ApplyResourceChange(ctx, request)
	if err != nil {
		return nil, err
	}
	failed := hasError(answer.Diagnostics)
	if answer.NewState == nil && !failed {
		return nil, noAnswer("ApplyResourceChange", request.TypeName)
	}
	if failed && isNull(request.PriorState) && !isNull(answer.NewState) {
		answer.Diagnostics = append(answer.Diagnostics, provider.remove(request, answer)...)
	}
	return answer, nil
}

// remove destroys what a failed create left; what it answers says why it could not.
func (provider mended) remove(
	request *tfprotov6.ApplyResourceChangeRequest, left *tfprotov6.ApplyResourceChangeResponse,
) []*tfprotov6.Diagnostic {
	nothing := &tfprotov6.DynamicValue{MsgPack: []byte{msgpackNil}}
	// The context of the create may have been cancelled: that is how it failed.
	answer, err := provider.Provider.ApplyResourceChange(context.Background(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName:       request.TypeName,
		PriorState:     left.NewState,
		PlannedState:   nothing,
		Config:         nothing,
		PlannedPrivate: left.Private,
		ProviderMeta:   request.ProviderMeta,
	})
	if err == nil && answer.NewState == nil && !hasError(answer.Diagnostics) {
		err = noAnswer("ApplyResourceChange", request.TypeName)
	}
	if err != nil {
		return []*tfprotov6.Diagnostic{{
			Severity: tfprotov6.DiagnosticSeverityError,
			Summary:  fmt.Sprintf("what this create had made could not be removed: %v", err),
		}}
	}
	return answer.Diagnostics
}

func (provider mended) PlanResourceChange(
	ctx context.Context, request *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	answer, err := provider.Provider.PlanResourceChange(ctx, request)
	if err == nil && answer.PlannedState == nil && !hasError(answer.Diagnostics) {
		return nil, noAnswer("PlanResourceChange", request.TypeName)
	}
	return answer, err
}

func (provider mended) ReadResource(
	ctx context.Context, request *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	answer, err := provider.Provider.ReadResource(ctx, request)
	if err == nil && answer.NewState == nil && !hasError(answer.Diagnostics) {
		return nil, noAnswer("ReadResource", request.TypeName)
	}
	return answer, err
}

func (provider mended) ReadDataSource(
	ctx context.Context, request *tfprotov6.ReadDataSourceRequest,
) (*tfprotov6.ReadDataSourceResponse, error) {
	answer, err := provider.Provider.ReadDataSource(ctx, request)
	if err == nil && answer.State == nil && !hasError(answer.Diagnostics) {
		return nil, noAnswer("ReadDataSource", request.TypeName)
	}
	return answer, err
}

func noAnswer(call, resource string) error {
	return fmt.Errorf("terraform-provider-docker gave no answer to %s of %s: the call was cancelled or refused", call, resource)
}

func hasError(diagnostics []*tfprotov6.Diagnostic) bool {
	for _, diagnostic := range diagnostics {
		if diagnostic.Severity == tfprotov6.DiagnosticSeverityError {
			return true
		}
	}
	return false
}

// msgpackNil is the one byte that a null value is (https://github.com/msgpack/msgpack/blob/master/spec.md#nil-format).
const msgpackNil = 0xc0

func isNull(value *tfprotov6.DynamicValue) bool {
	return value == nil || len(value.MsgPack) == 1 && value.MsgPack[0] == msgpackNil || string(value.JSON) == "null"
}
