// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// Free is what the command free prints as JSON and YAML.
type Free struct {
	Header `json:",inline"`
	// Freed is the record whose prefix the pool gets back.
	Freed WhoRecord `json:"freed"`
}

// freeing is a run of free.
type freeing struct {
	*options
	stdin     io.Reader
	isYes     bool
	cidr      string
	namespace string
	name      string
}

func freeCommand(o *options, stdin io.Reader) *cobra.Command {
	f := &freeing{options: o, stdin: stdin}
	cmd := &cobra.Command{
		Use:   "free IPCLAIM",
		Short: "Free what is retained for an IPClaim that is gone",
		Long: "Free what is retained for an IPClaim that is gone (spec.reclaimPolicy: Retain). An IPClaim of that name takes the prefix, with\n" +
			"reclaimPolicy Delete, and is deleted. You need the rights to create and delete IPClaims, and no others.\n" +
			"Exit code 1 means that nothing is retained, or that you said no.\n\n" + exitCodes,
		Example: "  kubectl weir free -n team-red endpoint\n  kubectl weir free -n team-red endpoint --cidr=10.0.0.40/32 --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			f.name = strings.TrimPrefix(args[0], "ipclaim/")
			if f.namespace, _, err = o.contextNamespace(); err != nil {
				return err
			}
			return f.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVarP(&f.isYes, "yes", "y", false, "Do not ask")
	cmd.Flags().StringVar(&f.cidr, "cidr", "", "Free this prefix, if several are retained for the IPClaim")
	return cmd
}

func (f *freeing) run(ctx context.Context) error {
	s, err := f.surveyOfWeir(survey.Scope{Only: f.namespace})
	if err != nil {
		return err
	}
	claim, presence, err := s.IPClaim(ctx, f.namespace, f.name)
	switch {
	case err != nil:
		return err
	case presence == survey.Hidden:
		return forbidden("nothing was freed: %s", texts(s.Gaps().List()))
	case presence == survey.Present:
		return fmt.Errorf("IPClaim %s/%s is there and has %s; to free that, set its spec.reclaimPolicy to Delete and delete it",
			f.namespace, f.name, cmp.Or(claim.Spec.CIDR, "nothing"))
	}
	records, isAllowed, err := s.Retained(ctx, f.namespace, f.name)
	if err != nil {
		return err
	}
	if !isAllowed {
		return forbidden("nothing was freed: %s", texts(s.Gaps().List()))
	}
	record, err := f.choose(records)
	if err != nil {
		return err
	}
	return f.free(ctx, record)
}

// choose returns the record to free.
func (f *freeing) choose(records []survey.Record) (*survey.Record, error) {
	if f.cidr != "" {
		wanted, err := parsePrefix(f.cidr)
		if err != nil {
			return nil, err
		}
		records = slices.DeleteFunc(records, func(r survey.Record) bool { return r.Prefix != wanted })
	}
	switch len(records) {
	case 0:
		return nil, &exitError{code: ExitBadNews, err: fmt.Errorf("nothing is retained for IPClaim %s/%s", f.namespace, f.name)}
	case 1:
		return &records[0], nil
	}
	prefixes := make([]netip.Prefix, 0, len(records))
	for i := range records {
		prefixes = append(prefixes, records[i].Prefix)
	}
	return nil, fmt.Errorf("%d prefixes are retained for IPClaim %s/%s: %v; choose one with --cidr", len(records), f.namespace, f.name, prefixes)
}

func (f *freeing) free(ctx context.Context, record *survey.Record) error {
	if !f.isYes && !f.isConfirmed(record) {
		return &exitError{code: ExitBadNews, err: errors.New("nothing was freed; answer y, or say --yes")}
	}
	// The one configuration that may write anything.
	f.config.WrapConfigFn = survey.OnlyIPClaims
	config, err := f.config.ToRESTConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	releaser, err := survey.NewReleaser(config)
	if err != nil {
		return err
	}
	switch err = releaser.Release(ctx, record); {
	case apierrors.IsForbidden(err):
		return forbidden("nothing was freed: %w", err)
	case err != nil:
		return err
	}
	return f.print(record)
}

// isConfirmed shows what would be freed, and asks.
func (f *freeing) isConfirmed(record *survey.Record) bool {
	fmt.Fprintf(f.stderr, "%s of %s is retained for %s since %s. An IPClaim of that name will take it, and be deleted. Free it? [y/N] ",
		subject(record.Prefix), survey.Name(record.Pool), survey.ClaimName(record.Claim), f.moment(record.ReleasedAt))
	answer, err := bufio.NewReader(f.stdin).ReadString('\n')
	if err != nil {
		fmt.Fprintln(f.stderr)
	}
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}

func (f *freeing) print(record *survey.Record) error {
	switch {
	case isObject(f.format):
		return printObject(f.stdout, f.format, &Free{Header: header("Free"), Freed: whoRecord(record)})
	case f.format == formatName:
		fmt.Fprintf(f.stdout, "ipclaim.%s/%s\n", ipamv1.GroupVersion.Group, f.name)
	default:
		fmt.Fprintf(f.stdout, "%s goes back to %s, and may cool down there first.\n", subject(record.Prefix), survey.Name(record.Pool))
	}
	return nil
}
