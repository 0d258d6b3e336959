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

// rounds is how often a path is walked at most until both kinds have shown all their writes: what a manager has to write depends on how far the
// garbage collector is.
const rounds = 5

// The gate walks paths with pools of one kind where this holds.
var _ = It("A manager process makes the same writes for pools of both kinds", func(ctx SpecContext) {
	left := map[string]map[string][]string{} // by path and kind of pool
	for name, p := range paths {
		if !p.kindMatters && p.asks == nil {
			left[name] = map[string][]string{}
		}
	}
	for range rounds {
		walkBoth(ctx, left)
		maps.DeleteFunc(left, func(_ string, made map[string][]string) bool {
			return slices.Equal(made[ipamv1.IPPoolKind], made[ipamv1.GlobalIPPoolKind])
		})
	}
	Expect(left).To(BeEmpty())
}, SpecTimeout(10*time.Minute))

// walkBoth walks paths with pools of both kinds, all at once, and adds to each what was written.
func walkBoth(ctx context.Context, made map[string]map[string][]string) {
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
			Eventually(func(g Gomega) { p.done(ctx, worlds[name][kind], g) }, "1m", "20ms").Should(Succeed(), name)
		})
		suite.AtRest(ctx, config)
	})
	each(func(name, kind string, _ path) {
		found := recorded.about(worlds[name][kind])
		Expect(found).NotTo(BeEmpty(), name)
		made[name][kind] = slices.Compact(slices.Sorted(slices.Values(append(made[name][kind], found...))))
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
