// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// writes are the kinds of writes that managers make, by the world that they are about.
type writes struct {
	mu sync.Mutex
	of map[string][]string
}

var (
	worldName = regexp.MustCompile(`world-\d+`)
	resource  = regexp.MustCompile(`/(?:global)?(ip[a-z]+)(?:/[^/]+)?(/status)?$`)
	ofStatus  = regexp.MustCompile(`pools/status$`)
)

// note takes in a request. Kinds of pools count as one kind, and what is repeated as one write. Two writes of pools are left out: the status, which
// comes at a rate of its own, and annotations, which are about moves: IPPools move with their Clusters, GlobalIPPools have a home.
func (s *writes) note(r *http.Request) bool {
	parts := resource.FindStringSubmatch(r.URL.Path)
	if r.Method == http.MethodGet || parts == nil || r.Body == nil {
		return false
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	kind := parts[1] + parts[2]
	world := worldName.FindString(r.URL.Path + " " + string(body))
	isOfAnnotations := r.Method == http.MethodPatch && parts[1] == "ippools" && bytes.Contains(body, []byte(`"annotations":`))
	if err != nil || world == "" || ofStatus.MatchString(kind) || isOfAnnotations {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if write := r.Method + " " + kind; !slices.Contains(s.of[world], write) {
		s.of[world] = append(s.of[world], write)
	}
	return false
}

// about returns what was written about a world.
func (s *writes) about(w *world) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.of[w.name])
}

// rounds is how often a path is walked at most until both kinds have made the same writes on it, in one round or in two: what a manager has to
// write depends on how far the garbage collector is, and on which of its own loops is first.
const rounds = 5

// walks are the writes that were made on one path, by kind of pool: one text for each time that it was walked.
type walks map[string][]string

// areAlike tells whether pools of one kind have once had the writes that those of the other had.
func (w walks) areAlike() bool {
	return slices.ContainsFunc(w[ipamv1.IPPoolKind], func(made string) bool { return slices.Contains(w[ipamv1.GlobalIPPoolKind], made) })
}

// The gate walks paths with pools of one kind where this holds.
var _ = It("A manager process makes the same writes for pools of both kinds", func(ctx SpecContext) {
	left := map[string]walks{} // by path
	for name, p := range paths {
		if !p.kindMatters && p.asks == nil {
			left[name] = walks{}
		}
	}
	for range rounds {
		walkBoth(ctx, left)
		maps.DeleteFunc(left, func(_ string, w walks) bool { return w.areAlike() })
	}
	Expect(left).To(BeEmpty())
}, SpecTimeout(10*time.Minute))

// walkBoth walks paths with pools of both kinds, all at once, and adds what was written to each.
func walkBoth(ctx context.Context, made map[string]walks) {
	GinkgoHelper()
	if len(made) == 0 {
		return
	}
	worlds := map[string]map[string]*world{}
	each := func(do func(name, kind string, p path)) {
		for name := range made {
			for _, kind := range []string{ipamv1.IPPoolKind, ipamv1.GlobalIPPoolKind} {
				do(name, kind, paths[name])
			}
		}
	}
	healthy(ctx, func(*framework.Manager) {
		each(func(name, kind string, p path) {
			w := newWorld(ctx, kind)
			p.before(ctx, w)
			if worlds[name] == nil {
				worlds[name] = map[string]*world{}
			}
			worlds[name][kind] = w
		})
		suite.AtRest(ctx, config)
	})
	each(func(name, kind string, p path) { p.event(ctx, worlds[name][kind]) })
	recorded := record(ctx, func() {
		each(func(name, kind string, p path) {
			Eventually(func(g Gomega) { p.done(ctx, worlds[name][kind], g) }, "1m", "100ms").Should(Succeed(), name)
		})
		suite.AtRest(ctx, config)
	})
	each(func(name, kind string, _ path) {
		found := recorded.about(worlds[name][kind])
		Expect(found).NotTo(BeEmpty(), name)
		made[name][kind] = append(made[name][kind], strings.Join(slices.Sorted(slices.Values(found)), ", "))
	})
}

// record runs a manager until something is done, and returns what it has written meanwhile.
func record(ctx context.Context, do func()) *writes {
	GinkgoHelper()
	made := &writes{of: map[string][]string{}}
	proxy, err := site.NewWriteProxy(config, 0, framework.RequestLost)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(proxy.Stop()).To(Succeed()) }()
	m, err := site.StartManager(ctx, framework.ManagerOptions{
		Name: "recorded", Binary: binary, Args: append([]string{"--repair-grace=1s"}, managerArgs...), Config: proxy.Counting(made.note).Config(),
	})
	Expect(err).NotTo(HaveOccurred())
	do()
	Expect(m.Kill()).To(Succeed())
	return made
}
