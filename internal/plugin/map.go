// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/atlas"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// mapFileMode is for the user alone: the file has the names of all claims that the user sees.
const mapFileMode = 0o600

// errNoPools is returned where the user may list no pools.
var errNoPools = forbidden("you may list no pools; ask for the right to, or choose a --namespace")

// Map is what the command map writes as JSON and YAML.
type Map struct {
	Header `json:",inline"`
	*atlas.Map
}

func mapCommand(o *options) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "map [--output FILE.html]",
		Short: "Show a map of the pools and of what their addresses are in use for",
		Long: "Show a map of the pools and of what their addresses are in use for: one page for a browser.\n" +
			"Without --output the page is served on a loopback address until you interrupt the command, and follows what changes. Its address, which is\n" +
			"printed, has a secret: who has it sees what you may see.\n" +
			"With --output the page is one file that needs no network. It has the names of all claims that you may see.\n\n" + exitCodes,
		Example: "  kubectl weir map\n  kubectl weir map --output map.html\n  kubectl weir map -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output == "" {
				return o.liveMap(cmd.Context())
			}
			return o.writeMap(cmd.Context(), output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "The file to write; - is standard output; json or yaml prints the map as an object")
	return cmd
}

func (o *options) writeMap(ctx context.Context, output string) error {
	drawn, isAllowed, err := o.drawMap(ctx)
	if err != nil {
		return err
	}
	switch {
	case isObject(output):
		err = printObject(o.stdout, output, Map{header("Map"), drawn})
	case output == standardInput:
		printGaps(o.stderr, drawn.Gaps)
		err = atlas.WritePage(bare(o.stdout), drawn)
	default:
		printGaps(o.stderr, drawn.Gaps)
		err = writeFile(output, func(w io.Writer) error { return atlas.WritePage(w, drawn) })
		if err == nil {
			fmt.Fprintf(o.stderr, "Wrote %d pools and %d records to %s.\n", len(drawn.Pools), len(drawn.Records.At), output)
		}
	}
	if err == nil && !isAllowed {
		err = errNoPools
	}
	return err
}

// drawMap reads pools and records. It returns false if the user may list no pools.
func (o *options) drawMap(ctx context.Context) (drawn *atlas.Map, isAllowed bool, err error) {
	scope, err := o.scope()
	if err != nil {
		return nil, false, err
	}
	s, err := o.survey(scope)
	if err != nil {
		return nil, false, err
	}
	in := atlas.Input{Taken: o.now(), Namespace: scope.Only}
	if in.Pools, isAllowed, err = s.Pools(ctx); err != nil {
		return nil, false, err
	}
	group, reads := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		in.Revision, _, err = s.RecordsAt(reads, "", func(r survey.Record) { in.Records = append(in.Records, r) })
		return err
	})
	group.Go(func() (err error) {
		in.MachineOf, err = s.Machines(reads)
		return err
	})
	if err = group.Wait(); err != nil {
		return nil, false, err
	}
	in.Gaps = s.Gaps().List()
	if scope.Only != "" || s.MissesRecords() {
		in.Sight = atlas.SomeRecords
	}
	return atlas.Draw(in), isAllowed, nil
}

// writeFile writes a file anew, or what there is of it until a mistake.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mapFileMode) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
