// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/demand"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/rehearsal"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// Verdicts on what is needed of a pool.
const (
	// EnoughVerdict: the pool has what is needed at most.
	EnoughVerdict = "Enough"
	// MissingVerdict: it has not, in whatever order claims come.
	MissingVerdict = "Missing"
	// OrderVerdict: it has, if large prefixes are asked for before small ones; else what is free may be in pieces.
	OrderVerdict = "DependsOnOrder"
	// RefusedVerdict: it refuses claims, whatever it has.
	RefusedVerdict = "Refused"
	// NotServingVerdict: the pool hands out nothing, or is not there.
	NotServingVerdict = "NotServing"
	// UnknownVerdict: what the pool has left is not known.
	UnknownVerdict = "Unknown"
)

// Plan is what the command plan prints as JSON and YAML.
type Plan struct {
	Header `json:",inline"`
	// Gaps are what the user may not see.
	Gaps      []survey.Gap `json:"gaps"`
	Namespace string       `json:"namespace"`
	Sets      []PlanSet    `json:"sets"`
	Pools     []PlanPool   `json:"pools"`
	// NotLookedAt are what may need addresses as well.
	NotLookedAt []string `json:"notLookedAt"`

	// mayLack: more may be needed than is shown, for missing rights.
	mayLack bool
}

// PlanSet is a set of machines, or a claim.
type PlanSet struct {
	survey.Object `json:",inline"`
	Template      *survey.Object `json:"template,omitempty"`
	// Machines is how many there are, Wanted how many there shall be, AtMost how many at once while they are replaced.
	Machines int `json:"machines"`
	Wanted   int `json:"wanted"`
	Surge    int `json:"surge"`
	AtMost   int `json:"atMost"`
	// Addresses has a pool for each address of a machine.
	Addresses []survey.Object `json:"addresses"`
	// PrefixLength is what a claim asks for; absent where it takes what the pool gives.
	PrefixLength int `json:"prefixLength,omitempty"`

	set *demand.Set
}

// PlanPool is what is needed of a pool.
type PlanPool struct {
	survey.Object `json:",inline"`
	// Now is how many addresses the machines have, ForGood and AtMost how many more they need.
	Now     int `json:"now"`
	ForGood int `json:"forGood"`
	AtMost  int `json:"atMost"`
	// Prefixes are what is needed by claims that ask for a length themselves, the largest first.
	Prefixes []PlanPrefixes `json:"prefixes,omitempty"`
	// Waiting is how many claims of the namespace wait for the pool. They come first.
	Waiting int `json:"waiting,omitempty"`
	// Available and Cooling are in addresses, as decimal numbers.
	Available string `json:"available,omitempty"`
	Cooling   string `json:"cooling,omitempty"`
	// CooldownSeconds is how long a released address is kept back.
	CooldownSeconds int `json:"cooldownSeconds,omitempty"`
	// Missing is how many addresses are missing, as a decimal number.
	Missing string `json:"missing,omitempty"`
	// Refused are claims that the pool refuses, and why.
	Refused []string `json:"refused,omitempty"`
	// IsRehearsed: the verdict is that of Weir's own allocator on a copy of the records. Else it compares sums.
	IsRehearsed bool   `json:"isRehearsed"`
	State       string `json:"state"`
	Verdict     string `json:"verdict"`

	need demand.Need
}

// PlanPrefixes is what is needed of prefixes of one length.
type PlanPrefixes struct {
	Length  int `json:"length"`
	Now     int `json:"now"`
	ForGood int `json:"forGood"`
	AtMost  int `json:"atMost"`
	Missing int `json:"missing,omitempty"`
}

// planning is a run of plan.
type planning struct {
	*options
	stdin    io.Reader
	question demand.Question
	files    []string
}

func planCommand(o *options, stdin io.Reader, forms []demand.Form) *cobra.Command {
	p := &planning{options: o, stdin: stdin, question: demand.Question{Forms: forms}}
	cmd := &cobra.Command{
		Use:   "plan (--cluster CLUSTER | -f FILE)",
		Short: "Show what addresses a Cluster needs, and whether its pools have them",
		Long: "Show what addresses the machines of a Cluster need, for good and at most while they are replaced, and whether the pools have them.\n" +
			"Claims of manifests count, too, IPClaims with the length that they ask for. Where you may read the records, Weir's own allocator\n" +
			"answers all that is needed, on a copy of them. Manifests come before what the API server has.\n" +
			"Exit code 1 means that a pool has not what is needed, or refuses it.\n\n" + exitCodes,
		Example: "  kubectl weir plan -n team-red --cluster prod-eu --replicas prod-eu-md-0=12\n" +
			"  clusterctl generate cluster new | kubectl weir plan -n team-red -f -",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&p.question.Cluster, "cluster", "", "The Cluster to look at, not that of the kubeconfig; without it, those of the manifests")
	flags.StringArrayVarP(&p.files, "filename", "f", nil, "Manifests of what shall be, in YAML or JSON; - is standard input")
	flags.StringToIntVar(&p.question.Replicas, "replicas", nil, "How many machines a set shall have, as NAME=NUMBER")
	flags.BoolVar(&p.question.ToMax, "to-max", false, "Sets shall have as many machines as the autoscaler's annotation allows")
	return cmd
}

func (p *planning) run(ctx context.Context) error {
	if p.question.Cluster == "" && len(p.files) == 0 {
		return errors.New("nothing to plan; name a Cluster by --cluster, or manifests by -f")
	}
	var err error
	if p.question.Namespace, _, err = p.contextNamespace(); err != nil {
		return err
	}
	for _, name := range p.files {
		if err = p.readManifests(name); err != nil {
			return err
		}
	}
	s, err := p.surveyOfWeir(survey.Scope{Only: p.question.Namespace})
	if err != nil {
		return err
	}
	if p.question.InCluster, err = s.ServesInCluster(ctx); err != nil {
		return err
	}
	answer, err := demand.Reckon(ctx, s, p.question)
	if err != nil {
		return err
	}
	refs := make([]ipamv1.PoolReference, 0, len(answer.Needs))
	for _, need := range answer.Needs {
		refs = append(refs, need.Pool)
	}
	pools, err := s.NamedPools(ctx, refs)
	if err != nil {
		return err
	}
	rooms, err := p.rehearse(ctx, s, planAsks(answer, pools, p.question.Namespace))
	if err != nil {
		return err
	}
	return p.print(plan(answer, pools, rooms, s.Gaps().List(), p.question.Namespace))
}

func (p *planning) readManifests(name string) error {
	in := p.stdin
	if name != standardInput {
		file, err := os.Open(name) //nolint:gosec // the user names it
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	documents := k8syaml.NewYAMLOrJSONDecoder(in, 4096)
	for {
		object := &unstructured.Unstructured{}
		err := documents.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if len(object.Object) > 0 {
			p.question.Manifests = append(p.question.Manifests, object)
		}
	}
}

func plan(
	answer *demand.Answer, pools map[ipamv1.PoolReference]*survey.UsablePool, rooms map[ipamv1.PoolReference]*rehearsal.Room, gaps []survey.Gap, namespace string,
) *Plan {
	p := &Plan{
		Header: header("Plan"), Gaps: gaps, Namespace: namespace, Sets: []PlanSet{}, Pools: []PlanPool{},
		NotLookedAt: append([]string{}, answer.NotLookedAt...), mayLack: len(answer.Unseen) > 0,
	}
	for _, name := range answer.Unseen {
		p.NotLookedAt = append(p.NotLookedAt, name+", which you may not see")
	}
	for i := range answer.Sets {
		set := &answer.Sets[i]
		shown := PlanSet{
			Object: set.Object, Machines: set.Now, Wanted: set.Wanted, Surge: set.Surge, AtMost: set.AtMost,
			Addresses: make([]survey.Object, 0, len(set.Each)), PrefixLength: set.Length, set: set,
		}
		if set.Template != (survey.Object{}) {
			shown.Template = &set.Template
		}
		for _, pool := range set.Each {
			shown.Addresses = append(shown.Addresses, poolObject(pool))
		}
		p.Sets = append(p.Sets, shown)
	}
	for _, need := range answer.Needs {
		p.Pools = append(p.Pools, planPool(need, pools[need.Pool], rooms[need.Pool]))
	}
	return p
}

func poolObject(ref ipamv1.PoolReference) survey.Object {
	kind := ref.GroupKind()
	return survey.Object{APIGroup: kind.Group, Kind: kind.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// planPool compares what is needed of a pool with what it has: the room that a rehearsal found, or else sums.
func planPool(need demand.Need, pool *survey.UsablePool, room *rehearsal.Room) PlanPool {
	p := PlanPool{
		Object: poolObject(need.Pool), Now: need.Now, ForGood: need.ForGood, AtMost: need.AtMost, need: need,
		Waiting: pool.Waiting, Available: pool.Capacity.Available, Cooling: pool.Capacity.Cooling,
		CooldownSeconds: int(pool.Cooldown.Seconds()), State: pool.State,
	}
	for _, length := range slices.Sorted(maps.Keys(need.Prefixes)) {
		amount := need.Prefixes[length]
		p.Prefixes = append(p.Prefixes, PlanPrefixes{Length: length, Now: amount.Now, ForGood: amount.ForGood, AtMost: amount.AtMost})
	}
	isServing := pool.State == ipamv1.PoolReadyAvailableReason || pool.State == survey.ExhaustedState
	switch {
	case !asksMore(&need, pool) && (isServing || need.Renewed == 0):
		p.Verdict = EnoughVerdict
	case pool.State == survey.HiddenState:
		p.Verdict = UnknownVerdict
	case !isServing:
		p.Verdict = NotServingVerdict
	case room != nil && room.Unknown == nil:
		p.judgeRoom(room)
	default:
		p.judgeSums()
	}
	return p
}

// judgeRoom judges by what a rehearsal found.
func (p *PlanPool) judgeRoom(room *rehearsal.Room) {
	p.IsRehearsed, p.Refused, p.Verdict = true, room.Refused, EnoughVerdict
	if n := room.Missing[0]; n > 0 {
		p.Missing = strconv.Itoa(n)
	}
	for i := range p.Prefixes {
		p.Prefixes[i].Missing = room.Missing[p.Prefixes[i].Length]
	}
	switch {
	case len(room.Missing) > 0:
		p.Verdict = MissingVerdict
	case len(room.Refused) > 0:
		p.Verdict = RefusedVerdict
	case room.DependsOnOrder:
		p.Verdict = OrderVerdict
	}
}

// judgeSums judges by the pool's status, which has no place of anything: it is enough for single addresses.
func (p *PlanPool) judgeSums() {
	needed := big.NewInt(int64(p.AtMost + p.Waiting))
	missing := needed.Sub(needed, count(p.Available))
	switch {
	case p.State == ipamv1.PoolReadyAvailableReason && p.Available == "":
		p.Verdict = UnknownVerdict
	case missing.Sign() > 0:
		p.Verdict, p.Missing = MissingVerdict, missing.String()
	case len(p.Prefixes) > 0:
		p.Verdict = UnknownVerdict
	default:
		p.Verdict = EnoughVerdict
	}
}

func (p *planning) print(plan *Plan) error {
	switch {
	case isObject(p.format):
		if err := printObject(p.stdout, p.format, plan); err != nil {
			return err
		}
	case p.format == formatName:
		for i := range plan.Pools {
			pool := &plan.Pools[i]
			fmt.Fprintf(p.stdout, "%s.%s/%s\n", strings.ToLower(pool.Kind), pool.APIGroup, pool.Name)
		}
	default:
		p.printPlan(plan)
	}
	return plan.exit()
}

// exit is nil if all pools have what is needed of them, and the user sees all that is needed.
func (p *Plan) exit() error {
	mayLack := p.mayLack
	for i := range p.Pools {
		switch p.Pools[i].Verdict {
		case MissingVerdict, NotServingVerdict, OrderVerdict, RefusedVerdict:
			return badNews
		case UnknownVerdict:
			mayLack = true
		}
	}
	if mayLack {
		return forbidden("the pools that you may see have enough; you may not see all that the machines need")
	}
	return nil
}

func (p *planning) printPlan(plan *Plan) {
	printGaps(p.stderr, plan.Gaps)
	rows := make([][]string, 0, len(plan.Sets))
	for i := range plan.Sets {
		rows = append(rows, plan.Sets[i].row(p.format))
	}
	if len(rows) > 0 {
		printTable(p.stdout, []string{"SET", "MACHINES", "AT MOST", "ADDRESSES OF EACH", ""}, rows, nil)
	} else {
		fmt.Fprintln(p.stdout, "There are no machines to plan for.")
	}
	rows = make([][]string, 0, len(plan.Pools))
	for i := range plan.Pools {
		rows = append(rows, plan.Pools[i].row())
	}
	if len(rows) > 0 {
		printTable(p.stdout, []string{"POOL", "ITS NOW", "FOR GOOD", "AT MOST", "FREE", "VERDICT"}, rows, p.paintVerdict)
	}
	for i := range plan.Pools {
		for _, text := range plan.Pools[i].Refused {
			fmt.Fprintf(p.stdout, "Refused: %s\n", text)
		}
	}
	for _, text := range plan.NotLookedAt {
		fmt.Fprintf(p.stdout, "Not looked at: %s\n", text)
	}
}

func (s *PlanSet) row(format string) []string {
	machines, most := fmt.Sprint(s.Machines), fmt.Sprint(s.AtMost)
	if s.Machines != s.Wanted {
		machines = fmt.Sprintf("%d to %d", s.Machines, s.Wanted)
	}
	if s.Surge > 0 {
		most += fmt.Sprintf(" (surge %d)", s.Surge)
	}
	pools := make([]string, 0, len(s.set.Each))
	for _, pool := range s.set.Each {
		name := survey.Name(pool)
		if s.PrefixLength > 0 {
			name = fmt.Sprintf("/%d of %s", s.PrefixLength, name)
		}
		pools = append(pools, name)
	}
	row := []string{s.Kind + " " + s.Name, machines, most, cmp.Or(strings.Join(pools, ", "), "none of Weir's")}
	if format == formatWide && s.Template != nil {
		row = append(row, s.Template.Kind+" "+s.Template.Name)
	}
	return row
}

func (p *PlanPool) row() []string {
	free := cmp.Or(p.Available, "-")
	if count(p.Cooling).Sign() > 0 {
		free += fmt.Sprintf(", %s cool (%d s each)", p.Cooling, p.CooldownSeconds)
	}
	if p.Waiting > 0 {
		free += fmt.Sprintf(", %d claims wait", p.Waiting)
	}
	now := p.amounts("%d", func(a demand.Amount) int { return a.Now })
	forGood := p.amounts("%+d", func(a demand.Amount) int { return a.ForGood })
	atMost := p.amounts("%+d", func(a demand.Amount) int { return a.AtMost })
	return []string{survey.Name(p.need.Pool), now, forGood, atMost, free, p.verdict()}
}

// amounts is one amount of what is needed: of addresses, if there are any or nothing else, and of prefixes by their length.
func (p *PlanPool) amounts(format string, of func(demand.Amount) int) string {
	var texts []string
	if p.need.Amount != (demand.Amount{}) || len(p.Prefixes) == 0 {
		texts = append(texts, fmt.Sprintf(format, of(p.need.Amount)))
	}
	for _, prefixes := range p.Prefixes {
		texts = append(texts, fmt.Sprintf(format+" /%d", of(p.need.Prefixes[prefixes.Length]), prefixes.Length))
	}
	return strings.Join(texts, ", ")
}

func (p *PlanPool) verdict() string {
	switch p.Verdict {
	case MissingVerdict:
		return p.missing() + " MISSING"
	case OrderVerdict:
		return "only if large prefixes come first"
	case RefusedVerdict:
		return fmt.Sprintf("%d REFUSED", len(p.Refused))
	case NotServingVerdict:
		return p.State
	case UnknownVerdict:
		return "not known"
	}
	return "enough"
}

// missing is how much is missing, of addresses and of prefixes by their length.
func (p *PlanPool) missing() string {
	var texts []string
	if p.Missing != "" {
		texts = append(texts, p.Missing)
	}
	for _, prefixes := range p.Prefixes {
		if prefixes.Missing > 0 {
			texts = append(texts, fmt.Sprintf("%d /%d", prefixes.Missing, prefixes.Length))
		}
	}
	return strings.Join(texts, ", ")
}

// planVerdictColumn is the column of the verdict in the table of pools.
const planVerdictColumn = 5

func (p *planning) paintVerdict(column int, text, padded string) string {
	switch {
	case !p.painted || column != planVerdictColumn:
		return padded
	case text == "enough":
		return colored(green, padded)
	}
	return colored(red, padded)
}
