// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager is Weir, a Cluster API IPAM provider.
package main

import (
	"flag"
	"os"

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // the image has no file but this program, so no certificate authorities
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/metrics"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
)

// version and revision are set by the linker; the commit is only known of a release.
var (
	version  = "dev"
	revision = "unknown"
)

func main() {
	if err := command().Execute(); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var options setup.Options
	logOptions := logs.NewOptions()
	cmd := &cobra.Command{
		Use:          "manager",
		Short:        "Weir hands out IP addresses to Cluster API claims",
		Version:      version,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			if err := logsv1.ValidateAndApply(logOptions, nil); err != nil {
				return err
			}
			ctrl.SetLogger(setup.Logger(klog.Background()))
			ctrl.Log.Info("Starting manager", "version", version, "revision", revision)
			restConfig, err := config.GetConfig()
			if err != nil {
				return err
			}
			metrics.Running(version)
			restConfig.UserAgent = "weir/" + version
			return setup.Run(ctrl.SetupSignalHandler(), restConfig, options)
		},
	}
	logsv1.AddFlags(logOptions, cmd.Flags())
	options.AddFlags(cmd.Flags())
	cmd.Flags().AddGoFlagSet(flag.CommandLine) // --kubeconfig
	return cmd
}
