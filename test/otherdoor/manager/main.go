// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager is Weir's manager with a second front door, for tests only.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/doors"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/otherdoor"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	options := setup.Options{Doors: []doors.Door{otherdoor.Door()}}
	options.AddFlags(pflag.CommandLine)
	pflag.Parse()
	ctrl.SetLogger(setup.Logger(klog.Background()))
	restConfig, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return setup.Run(ctrl.SetupSignalHandler(), restConfig, options)
}
