// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-weir is the plugin of kubectl for Weir: kubectl weir.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that kubectl has

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/demand"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/metal3/capm3"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	config := plugin.Config{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Now: time.Now, Version: version, FloatingIPs: floatingIPs,
		Forms: []demand.Form{capm3.Form},
	}
	code := plugin.Run(ctx, config, os.Args[1:]...)
	stop()
	os.Exit(code)
}
