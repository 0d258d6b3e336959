// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"k8s.io/client-go/discovery"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// report is the result, and what it was measured on.
type report struct {
	Weir       string  `json:"weir"`
	Kubernetes string  `json:"kubernetes"`
	Etcd       string  `json:"etcd"`
	Fsync      bool    `json:"etcdFsync"`
	Go         string  `json:"go"`
	CPUs       int     `json:"cpus"`
	Claims     int     `json:"claims"`
	PoolSize   int     `json:"poolSize"`
	Allocated  int     `json:"allocated"`
	Args       string  `json:"managerArgs,omitempty"`
	Modes      []*mode `json:"modes,omitempty"`
	// Ceiling is the same writes as Weir's and the bench's, made by the bench
	// without looking at anything, with all creators.
	Ceiling []*floorRound `json:"ceiling,omitempty"`
	// Older are the modes of the older Weir that answered in turn.
	Older []*mode       `json:"older,omitempty"`
	Scale []*scaleRound `json:"scale,omitempty"`
	Calls *calls        `json:"calls,omitempty"`
	// Plugin are commands of kubectl weir with many records.
	Plugin []*pluginCommand `json:"plugin,omitempty"`
}

// mode holds the rounds with one number of creators; Median is computed at the
// end, each figure by itself.
type mode struct {
	of       watched
	Kind     string        `json:"kind"`
	Claims   int           `json:"claims"`
	Creators int           `json:"creators"`
	Floor    []*floorRound `json:"floor"`
	Weir     []*weirRound  `json:"weir"`
	Median   *median       `json:"median"`
}

// median holds the medians over the rounds of a mode.
type median struct {
	Floor     floorRound `json:"floor"`
	Weir      weirRound  `json:"weir"`
	AllWrites float64    `json:"writesPerClaim"`
	AllReads  float64    `json:"readsPerClaim"`
	// Share is Weir's rate divided by floor/(1 + writes per claim): 1 means that
	// it is as fast as an API server with nothing to do but these writes.
	Share float64 `json:"shareOfFloor"`
}

// newReport begins the report with how it is measured.
func newReport(o options) *report {
	r := &report{
		Fsync: o.fsync, Go: runtime.Version(), CPUs: runtime.NumCPU(), Args: o.args,
		Claims: o.claims, PoolSize: 1 << (maxIPv4Bits - o.blockBits()), Allocated: o.allocated,
	}
	if !o.parts.has(answersPart) {
		return r
	}
	r.Modes = []*mode{newMode(addressClaims, o.claims, o.creators)}
	if o.creators != 1 {
		r.Modes = append(r.Modes, newMode(addressClaims, o.claims, 1))
	}
	if o.hasMetal3() {
		r.Modes = append(r.Modes, newMode(metal3Claims, metal3Factor*o.claims, o.creators))
	}
	return r
}

func newMode(of watched, claims, creators int) *mode {
	return &mode{of: of, Kind: of.name(), Claims: claims, Creators: creators}
}

// versions says in the report what is measured.
func (e *environment) versions(ctx context.Context, r *report) error {
	client, err := discovery.NewDiscoveryClientForConfig(e.config)
	if err != nil {
		return fmt.Errorf("building a client: %w", err)
	}
	server, err := client.ServerVersion()
	if err != nil {
		return fmt.Errorf("reading the API server's version: %w", err)
	}
	r.Kubernetes = server.GitVersion
	if r.Etcd, err = etcdVersion(ctx, e.site.EtcdURL()); err != nil {
		return err
	}
	r.Weir, err = weirVersion(ctx)
	return err
}

func etcdVersion(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/version", http.NoBody)
	if err != nil {
		return "", fmt.Errorf("building a request: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("reading etcd's version: %w", err)
	}
	defer resp.Body.Close()
	var version struct {
		Server string `json:"etcdserver"`
	}
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, &version)
	}
	if err != nil {
		return "", fmt.Errorf("reading etcd's version: %w", err)
	}
	return version.Server, nil
}

func weirVersion(ctx context.Context) (string, error) {
	path, err := framework.Binary("manager")
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("asking the manager for its version: %w", err)
	}
	fields := strings.Fields(string(out))
	return fields[len(fields)-1], nil
}

// perClaim divides the requests that were not the bench's own by the number of
// claims. Leases are left out, as are the API server's requests to itself, for
// kinds that Weir has no right to read.
func perClaim(counts framework.RequestCounts, claims int) (writes, reads map[string]float64) {
	writes, reads = map[string]float64{}, map[string]float64{}
	changing := counts.Writes()
	for key, count := range counts {
		_, write := changing[key]
		label := requestLabel(key)
		switch {
		case !isWeirs(key, write):
		case write:
			writes[label] += count / float64(claims)
		case key.Verb == "GET" || key.Verb == "LIST":
			reads[label] += count / float64(claims)
		}
	}
	return writes, reads
}

// isWeirs tells Weir's requests. The claims are created by the bench.
func isWeirs(key framework.RequestKey, write bool) bool {
	switch key.Group {
	case "ipam.cluster.x-k8s.io":
		return key.Verb != "POST" || key.Resource != "ipaddressclaims"
	case "coordination.k8s.io":
		return false
	case "ipam.weir.dev", "ipam.metal3.io":
		return key.Verb != "POST" || key.Resource != "ipclaims"
	case "cluster.x-k8s.io", "events.k8s.io":
		return true
	default:
		return write
	}
}

func requestLabel(key framework.RequestKey) string {
	resource := key.Resource
	if key.Subresource != "" {
		resource += "/" + key.Subresource
	}
	if key.Group != "" {
		resource += "." + key.Group
	}
	label := key.Verb + " " + resource
	if !strings.HasPrefix(key.Code, "2") {
		label += " (" + key.Code + ")"
	}
	return label
}

// summarize computes the medians.
func (m *mode) summarize() {
	s := &median{
		Floor: floorRound{
			Rate: medianOf(m.Floor, func(f *floorRound) float64 { return f.Rate }),
			CPU:  mediansOf(m.Floor, func(f *floorRound) map[string]float64 { return f.CPU }),
		},
		Weir: weirRound{
			Rate:   medianOf(m.Weir, func(w *weirRound) float64 { return w.Rate }),
			P50:    medianOf(m.Weir, func(w *weirRound) float64 { return w.P50 }),
			P95:    medianOf(m.Weir, func(w *weirRound) float64 { return w.P95 }),
			P99:    medianOf(m.Weir, func(w *weirRound) float64 { return w.P99 }),
			Writes: mediansOf(m.Weir, func(w *weirRound) map[string]float64 { return w.Writes }),
			Reads:  mediansOf(m.Weir, func(w *weirRound) map[string]float64 { return w.Reads }),
			CPU:    mediansOf(m.Weir, func(w *weirRound) map[string]float64 { return w.CPU }),
		},
		AllWrites: medianOf(m.Weir, func(w *weirRound) float64 { return sum(w.Writes) }),
		AllReads:  medianOf(m.Weir, func(w *weirRound) float64 { return sum(w.Reads) }),
	}
	s.Share = s.Weir.Rate * (1 + s.AllWrites) / s.Floor.Rate
	m.Median = s
}

func medianOf[R any](rounds []R, figure func(R) float64) float64 {
	all := make([]float64, 0, len(rounds))
	for _, round := range rounds {
		all = append(all, figure(round))
	}
	return percentile(all, 50)
}

// mediansOf returns the median of each named figure; a round without it counts
// as 0.
func mediansOf[R any](rounds []R, figures func(R) map[string]float64) map[string]float64 {
	medians := map[string]float64{}
	for _, round := range rounds {
		for name := range figures(round) {
			medians[name] = medianOf(rounds, func(r R) float64 { return figures(r)[name] })
		}
	}
	return medians
}

// heading says what is going to be measured.
func (r *report) heading(o options) string {
	durable := "etcd does not fsync"
	if r.Fsync {
		durable = "etcd fsyncs"
	}
	return fmt.Sprintf(`Weir %s on Kubernetes %s, etcd %s (%s), %s, %d CPUs for all of it
%d claims a round, pool of %d addresses, %d allocated before; floor and Weir alternate %d times; figures are medians

`, r.Weir, r.Kubernetes, r.Etcd, durable, r.Go, r.CPUs, r.Claims, r.PoolSize, r.Allocated, o.rounds)
}

// tables returns the results for people.
func (r *report) tables() string {
	var text strings.Builder
	r.writeModes(&text)
	r.writeAgainst(&text)
	r.writeScale(&text)
	for _, m := range r.Modes {
		m.writeDetails(&text)
	}
	r.writeCalls(&text)
	r.writePlugin(&text)
	return text.String() + "\n"
}

// writeModes writes how Cluster API's and Metal3's claims are answered.
func (r *report) writeModes(text *strings.Builder) {
	if len(r.Modes) == 0 {
		return
	}
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "claims of\tcreators\tAPI floor/s\tWeir/s\tp50 ms\tp95 ms\tp99 ms\twrites/claim\treads/claim\tfloor/(1+writes)\tshare\t")
	for _, m := range r.Modes {
		m.summarize()
		s := m.Median
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%.0f\t%.0f %%\t\n", m.Kind, m.Creators, s.Floor.Rate, s.Weir.Rate,
			s.Weir.P50, s.Weir.P95, s.Weir.P99, s.AllWrites, s.AllReads, s.Floor.Rate/(1+s.AllWrites), 100*s.Share)
	}
	_ = w.Flush() // A strings.Builder does not fail.
	r.writeCeiling(text)
}

// writeCeiling compares Weir with the bare writes that an answer consists of.
func (r *report) writeCeiling(text *strings.Builder) {
	rate := medianOf(r.Ceiling, func(f *floorRound) float64 { return f.Rate })
	m := r.Modes[0]
	fmt.Fprintf(text, "\nWith %d at once: the writes of a claim and its answer, without Weir: %.0f claims/s; Weir reaches %.0f %% of that\n",
		m.Creators, rate, 100*m.Median.Weir.Rate/rate)
	text.WriteString("  CPU ms for a claim:")
	writeFigures(text, mediansOf(r.Ceiling, func(f *floorRound) map[string]float64 { return f.CPU }), "  %.2f %s")
	text.WriteString("\n")
}

// writeDetails writes what the table's line of this mode consists of.
func (m *mode) writeDetails(text *strings.Builder) {
	fmt.Fprintf(text, "\n%s, %d at once: floor and Weir of each round, claims/s:", m.Kind, m.Creators)
	for i, round := range m.Weir {
		fmt.Fprintf(text, "  %.0f and %.0f", m.Floor[i].Rate, round.Rate)
	}
	text.WriteString("\n  Weir's API requests for a claim:\n")
	writeFigures(text, m.Median.Weir.Writes, "%9.3f  %s\n")
	writeFigures(text, m.Median.Weir.Reads, "%9.3f  %s\n")
	text.WriteString("  CPU ms for a claim, floor:")
	writeFigures(text, m.Median.Floor.CPU, "  %.2f %s")
	text.WriteString("\n  CPU ms for a claim, Weir: ")
	writeFigures(text, m.Median.Weir.CPU, "  %.2f %s")
	text.WriteString("\n")
}

// writeFigures writes named figures, the greatest first.
func writeFigures(text *strings.Builder, figures map[string]float64, format string) {
	names := slices.SortedFunc(maps.Keys(figures), func(a, b string) int {
		return cmp.Or(cmp.Compare(figures[b], figures[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		fmt.Fprintf(text, format, figures[name], name)
	}
}

// writeJSON prints the results as one line, and writes them to a file if one is
// named.
func (r *report) writeJSON(path string) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding the results: %w", err)
	}
	line = append(line, '\n')
	if _, err = os.Stdout.Write(line); err != nil || path == "" {
		return err
	}
	return os.WriteFile(path, line, 0o600)
}

func sum(values map[string]float64) float64 {
	total := 0.0
	for _, value := range values {
		total += value
	}
	return total
}

// percentile returns the nearest-rank percentile of values; of none, 0.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(values))))
	return values[max(rank, 1)-1]
}
