// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// maxCommand is how many seconds a command should take at most.
const maxCommand = 3.0

// pluginRecords is how many records the commands meet.
const pluginRecords = 20_000

// pluginCommand is a command of kubectl weir with many records, and what it took.
type pluginCommand struct {
	Command  string  `json:"command"`
	Seconds  float64 `json:"seconds"`
	Requests int     `json:"requests"`
	MB       float64 `json:"megabytes"`
}

// pluginClaims is the round of the claim that is asked about, and pluginRecords' place leaves room for its address.
const pluginClaims = "asked"

var pluginPlace = recordPlace{poolName, ipamv1.DefaultAddressSpace, netip.AddrFrom4([4]byte{10, 0, 16, 0})}

// pluginCommands are what is measured: those that people wait for. The records have no claims, which fsck would look for.
var pluginCommands = [][]string{
	{"tree"}, {"tree", "--claims"}, {"who", "10.0.39.16"}, {"why", "-n", benchNamespace, "claim/" + pluginClaims + "-00000"}, {"pools", "-n", benchNamespace},
	{"status"}, {"map", "-o", "json"},
}

// measurePlugin runs the commands with many records, without a manager.
func (e *environment) measurePlugin(ctx context.Context, r *report) error {
	if err := e.startManager(ctx); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return e.unmeasured(ctx, pluginClaims, 1) },
		func() error { return e.removeWebhooks(ctx) },
		e.stopManager,
		func() error { return e.record(ctx, pluginPlace, pluginRecords) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	meter, err := framework.NewMeter(e.config)
	if err != nil {
		return err
	}
	defer meter.Stop()
	cache, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return fmt.Errorf("making a folder for what is discovered: %w", err)
	}
	defer func() { _ = os.RemoveAll(cache) }()
	for _, args := range pluginCommands {
		measured, err := e.command(ctx, meter, cache, args)
		if err != nil {
			return err
		}
		r.Plugin = append(r.Plugin, measured)
	}
	return nil
}

func (e *environment) command(ctx context.Context, meter *framework.Meter, cache string, args []string) (*pluginCommand, error) {
	var out bytes.Buffer
	meter.Read()
	began := time.Now()
	code := plugin.Run(ctx, plugin.Config{Stdin: &bytes.Buffer{}, Stdout: &out, Stderr: &out, Now: time.Now, Version: "bench"},
		append(args, "--kubeconfig="+e.site.KubeconfigPath(), "--server="+meter.URL(), "--cache-dir="+cache)...)
	c := &pluginCommand{Command: strings.Join(args, " "), Seconds: time.Since(began).Seconds()}
	asked, answered := meter.Read()
	c.Requests, c.MB = asked, float64(answered)/1e6
	if code != plugin.ExitOK && code != plugin.ExitBadNews {
		return nil, fmt.Errorf("kubectl weir %s: %.2000s", c.Command, out.String())
	}
	return c, nil
}

// writePlugin writes what the commands took.
func (r *report) writePlugin(text *strings.Builder) {
	if len(r.Plugin) == 0 {
		return
	}
	fmt.Fprintf(text, "\nkubectl weir, with %d records in a pool\n", pluginRecords)
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "command\tseconds (aim %.0f)\trequests\tMB\t\n", maxCommand)
	for _, c := range r.Plugin {
		fmt.Fprintf(w, "%s\t%.2f\t%d\t%.1f\t\n", c.Command, c.Seconds, c.Requests, c.MB)
	}
	_ = w.Flush() // A strings.Builder does not fail.
}
