// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// managerEnv has a program of specs run a manager, and no specs.
const managerEnv = "WEIR_TEST_MANAGER"

// Main runs the specs of a package; or a manager, if StartOwnManager has started the package's program as one. It is for TestMain.
func Main(m *testing.M) {
	if os.Getenv(managerEnv) == "" {
		os.Exit(m.Run())
	}
	if err := runManager(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// StartOwnManager has a site run the program that this is as a manager, of which the options name no binary, and waits until it is ready.
func StartOwnManager(ctx context.Context, site *framework.Site, options framework.ManagerOptions) *framework.Manager {
	GinkgoHelper()
	program, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	options.Binary, options.Env = program, []string{managerEnv + "=true"}
	manager, err := site.StartManager(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	return manager
}

func runManager() error {
	var options setup.Options
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	options.AddFlags(flags)
	flags.AddGoFlagSet(flag.CommandLine) // --kubeconfig
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	ctrl.SetLogger(klog.Background())
	cfg, err := config.GetConfig()
	if err != nil {
		return err
	}
	return setup.Run(ctrl.SetupSignalHandler(), cfg, options)
}
