// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

const (
	// fsckDocs says what to do about findings.
	fsckDocs = "docs/guides/operate.md#what-fsck-finds"
	// settle is how long a finding has to be there. What Weir is about to do takes less.
	settle = 10 * time.Second
)

// Fsck is what the command fsck prints as JSON and YAML.
type Fsck struct {
	Header `json:",inline"`
	// Gaps are what the user may not see. With any, nothing was checked.
	Gaps []survey.Gap `json:"gaps"`
	// ClaimCount, AnswerCount, RecordCount and FloatingIPCount are how many were looked at.
	ClaimCount      int            `json:"claimCount"`
	AnswerCount     int            `json:"answerCount"`
	RecordCount     int            `json:"recordCount"`
	FloatingIPCount int            `json:"floatingIPCount,omitempty"`
	Findings        []fsck.Finding `json:"findings"`

	took time.Duration
}

// listFloatingIPs lists the floating IPs of a cloud, by its name in the user's clouds.yaml. It calls endpoints that a pattern allows.
type listFloatingIPs func(ctx context.Context, cloud string, endpoints []string) ([]fsck.FloatingIP, error)

// checkup is a run of fsck.
type checkup struct {
	*options
	rest      *rest.Config
	clouds    listFloatingIPs
	cloud     string
	endpoints []string
	settle    time.Duration
}

func fsckCommand(o *options, clouds listFloatingIPs) *cobra.Command {
	c := &checkup{options: o, clouds: clouds}
	cmd := &cobra.Command{
		Use:   "fsck",
		Short: "Check that records, claims, addresses and pools agree",
		Long: "Check that records, claims, addresses and pools agree, in all namespaces. Nothing is changed.\n" +
			"A finding is shown if it is still there at a second look. Exit code 1 means that something was found.\n\n" + exitCodes,
		Example: "  kubectl weir fsck\n  kubectl weir fsck --openstack-cloud=prod",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().DurationVar(&c.settle, "settle", settle, "How long after a finding to look again")
	cmd.Flags().StringVar(&c.cloud, "openstack-cloud", "", "Check floating IPs of this cloud of your clouds.yaml as well")
	cmd.Flags().StringSliceVar(&c.endpoints, "openstack-endpoint-allow", nil, "Endpoints of the cloud that may be called, as the manager's flag; empty allows every https endpoint that is not loopback or link-local")
	return cmd
}

func (c *checkup) run(ctx context.Context) error {
	_, err := c.surveyOfWeir(survey.Scope{})
	if err != nil {
		return err
	}
	if c.rest, err = c.config.ToRESTConfig(); err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	began := c.now()
	report, err := c.lookTwice(ctx)
	var missing *fsck.ForbiddenError
	if errors.As(err, &missing) {
		f := &Fsck{Header: header("Fsck"), Gaps: []survey.Gap{}, Findings: []fsck.Finding{}}
		for _, resource := range missing.Resources {
			f.Gaps = append(f.Gaps, survey.CannotList(resource))
		}
		return c.printForbidden(f)
	}
	if err != nil {
		return err
	}
	return c.print(&Fsck{
		Header: header("Fsck"), Gaps: []survey.Gap{}, ClaimCount: report.Claims, AnswerCount: report.Answers, RecordCount: report.Records,
		FloatingIPCount: report.FloatingIPs, Findings: append([]fsck.Finding{}, report.Findings...), took: c.now().Sub(began),
	})
}

// lookTwice returns what is found, and is still found a while later.
func (c *checkup) lookTwice(ctx context.Context) (*fsck.Report, error) {
	c.progress("reading pools, claims, addresses and records")
	first, err := c.look(ctx)
	if err != nil || len(first.Findings) == 0 {
		return first, err
	}
	c.progress(fmt.Sprintf("%d findings; looking again in %s", len(first.Findings), c.settle))
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(c.settle):
	}
	second, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	return first.Persisting(second), nil
}

// look reads everything once. Floating IPs come first: their records are there before.
func (c *checkup) look(ctx context.Context) (*fsck.Report, error) {
	if c.cloud == "" {
		return fsck.Check(ctx, c.rest)
	}
	floatingIPs, err := c.clouds(ctx, c.cloud, c.endpoints)
	if err != nil {
		return nil, fmt.Errorf("reading floating IPs of cloud %s: %w", c.cloud, err)
	}
	return fsck.CheckCloud(ctx, c.rest, floatingIPs)
}

// progress says what takes long, to who looks on.
func (c *checkup) progress(text string) {
	if isTerminal(c.stderr) {
		fmt.Fprintln(c.stderr, text+" ...")
	}
}

func (c *checkup) printForbidden(f *Fsck) error {
	if isObject(c.format) {
		if err := printObject(c.stdout, c.format, f); err != nil {
			return err
		}
	} else {
		printGaps(c.stderr, f.Gaps)
	}
	return forbidden("nothing was checked: fsck has to see all namespaces; ask for the ClusterRole weir-system-viewer-role everywhere")
}

func (c *checkup) print(f *Fsck) error {
	switch {
	case isObject(c.format):
		if err := printObject(c.stdout, c.format, f); err != nil {
			return err
		}
	case c.format == formatName:
		for _, name := range f.names() {
			fmt.Fprintln(c.stdout, name)
		}
	default:
		c.printFindings(f)
	}
	if len(f.Findings) > 0 {
		return badNews
	}
	return nil
}

// names are the objects of the findings, each once.
func (f *Fsck) names() []string {
	var names []string
	for i := range f.Findings {
		for _, object := range f.Findings[i].Objects {
			name := strings.TrimSuffix(strings.ToLower(object.Kind)+"."+object.APIGroup, ".") + "/" + object.Name
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (c *checkup) printFindings(f *Fsck) {
	rows := make([][]string, 0, len(f.Findings))
	for i := range f.Findings {
		rows = append(rows, []string{string(f.Findings[i].Fault), f.Findings[i].Text})
	}
	if len(rows) > 0 {
		printTable(c.stdout, []string{"FAULT", "FINDING"}, rows, c.paintFault)
	}
	looked := fmt.Sprintf("%d claims, %d answers, %d records", f.ClaimCount, f.AnswerCount, f.RecordCount)
	if c.cloud != "" {
		looked += fmt.Sprintf(", %d floating IPs", f.FloatingIPCount)
	}
	verdict := "nothing is wrong"
	switch len(rows) {
	case 0:
	case 1:
		verdict = "1 finding; what to do: " + fsckDocs
	default:
		verdict = fmt.Sprintf("%d findings; what to do: %s", len(rows), fsckDocs)
	}
	fmt.Fprintf(c.stdout, "%s looked at in %.1fs: %s\n", looked, f.took.Seconds(), verdict)
}

func (c *checkup) paintFault(column int, _, padded string) string {
	if c.painted && column == 0 {
		return colored(red, padded)
	}
	return padded
}
