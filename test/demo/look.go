// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// look has kubectl's plugin show what there is: pools as a tree, who has an address, and why a claim waits.
func (p *play) look(ctx context.Context) error {
	waiting, err := p.claimRefused(ctx, claimFor(blue, "four", ipamv1.IPPoolKind, "tiny"), ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason)
	if err != nil {
		return err
	}
	answer := &ipamv1beta2.IPAddress{}
	if err = p.client.Get(ctx, client.ObjectKey{Namespace: blue, Name: "three"}, answer); err != nil {
		return fmt.Errorf("getting an IPAddress: %w", err)
	}
	for _, command := range []struct{ line, mention string }{
		{"tree", "IPPool " + blue + "/tiny"},
		{"who " + answer.Spec.Address, "IPAddressClaim " + blue + "/three"},
		{"why --namespace " + blue + " claim/" + waiting.Name, ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason},
	} {
		shown, err := p.weir(ctx, strings.Fields(command.line)...)
		if err != nil {
			return fmt.Errorf("kubectl weir %s: %w", command.line, err)
		}
		p.screen("kubectl weir "+command.line, shown)
		if !strings.Contains(shown, command.mention) {
			return fmt.Errorf("kubectl weir %s does not show %q", command.line, command.mention)
		}
	}
	return nil
}

// weir runs the plugin on the demo's cluster, as administrator. Exit code 1 says that something is to be done.
func (p *play) weir(ctx context.Context, args ...string) (string, error) {
	path, err := framework.Binary("kubectl-weir")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.site.KubeconfigPath())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, stderr.String())
	}
	return stdout.String(), nil
}
