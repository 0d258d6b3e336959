// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"bytes"
	"context"
	"io"
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

// note takes in a request. Kinds of pools count as one kind, and what is repeated as one write. The pool's status is left out: it is
// written at a rate of its own.
func (s *writes) note(r *http.Request) bool {
	parts := resource.FindStringSubmatch(r.URL.Path)
	if r.Method == http.MethodGet || parts == nil || r.Body == nil {
		return false
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	kind := parts[1] + parts[2]
	world := worldName.FindString(r.URL.Path + " " + string(body))
	if err != nil || world == "" || ofStatus.MatchString(kind) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if write := r.Method + " " + kind; !slices.Contains(s.of[world], write) {
		s.of[world] = append(s.of[world], write)
	}
	return false
}

// about returns what was written about a world, sorted: controllers work side by side.
func (s *writes) about(w *world) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(s.of[w.name])), "\n")
}

// The gate walks paths with pools of one kind where this holds.
var _ = It("A manager process makes the same writes for pools of both kinds", func(ctx SpecContext) {
	kinds := []string{ipamv1.IPPoolKind, ipamv1.GlobalIPPoolKind}
	both := map[string][]*world{}
	healthy(ctx, func(*framework.Manager) {
		for name, p := range paths {
			if p.kindMatters || p.asks != nil {
				continue
			}
			for _, kind := range kinds {
				w := newWorld(ctx, kind)
				p.before(ctx, w)
				both[name] = append(both[name], w)
			}
		}
		suite.AtRest(ctx, config)
	})
	for name, worlds := range both {
		for _, w := range worlds {
			paths[name].event(ctx, w)
		}
	}
	made := record(ctx, func() {
		for name, worlds := range both {
			for _, w := range worlds {
				p := paths[name]
				Eventually(func(g Gomega) { p.done(ctx, w, g) }, "1m", "20ms").Should(Succeed(), name)
			}
		}
		suite.AtRest(ctx, config)
	})
	for name, worlds := range both {
		Expect(made.about(worlds[0])).NotTo(BeEmpty(), name)
		Expect(made.about(worlds[1])).To(Equal(made.about(worlds[0])), name)
	}
}, SpecTimeout(5*time.Minute))

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
