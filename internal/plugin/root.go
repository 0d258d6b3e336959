// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/demand"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

const exitCodes = `Exit codes: 0 all is well, 1 the answer is bad news, 2 wrong usage or no API, 3 your rights allow no answer.`

// Config is what a run of the plugin takes from its process.
type Config struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Now is the clock.
	Now func() time.Time
	// Version of the plugin.
	Version string
	// FloatingIPs lists those of a cloud, by its name in the user's clouds.yaml. It calls endpoints that a pattern allows.
	FloatingIPs func(ctx context.Context, cloud string, endpoints []string) ([]fsck.FloatingIP, error)
	// Forms are how providers name pools in templates of machines.
	Forms []demand.Form
}

// Run runs the plugin with arguments, and returns its exit code.
func Run(ctx context.Context, config Config, args ...string) int {
	cmd := command(config)
	cmd.SetArgs(args)
	code, message := codeOf(cmd.ExecuteContext(ctx))
	if message != nil {
		printError(screen{config.Stderr}, message)
	}
	return code
}

func command(config Config) *cobra.Command {
	flags := genericclioptions.NewConfigFlags(true)
	flags.WrapConfigFn = survey.ReadOnly
	o := &options{stdout: screen{config.Stdout}, stderr: screen{config.Stderr}, config: flags, now: config.Now}
	cmd := &cobra.Command{
		Use:           "kubectl-weir",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl weir"},
		Short:         "See what Weir's pools have handed out, with your own rights",
		Long:          "See what Weir's pools have handed out, with your own rights. Nothing is changed, but by free.\n\n" + exitCodes,
		Version:       config.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return o.complete()
		},
	}
	cmd.SetOut(config.Stdout)
	cmd.SetErr(config.Stderr)
	cmd.SetIn(config.Stdin)
	o.addFlags(cmd)
	cmd.AddCommand(treeCommand(o), whoCommand(o), whyCommand(o, config.Stdin), poolsCommand(o), statusCommand(o), fsckCommand(o, config.FloatingIPs))
	cmd.AddCommand(planCommand(o, config.Stdin, config.Forms), historyCommand(o, config.Stdin), freeCommand(o, config.Stdin), mapCommand(o))
	return cmd
}
