// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// fate is what becomes of the call at which a manager dies.
type fate string

const (
	neverArrives fate = "never arrives"
	notAnswered  fate = "is done, but not answered"
	late         fate = "is done when the next manager is done"
)

var fates = []fate{neverArrives, notAnswered, late}

// Calls of the cloud, as the fake names them.
const (
	logIn      = "LogIn"
	extensions = "ListExtensions"
	networks   = "ListNetworks"
	search     = "ListFloatingIPs"
	creation   = "CreateFloatingIP"
	deletion   = "DeleteFloatingIP"
)

// point is where a manager dies: at its n-th write to the API server, or at its first call of that name.
type point struct {
	write int
	loss  framework.Loss

	call string
	fate fate
}

func (p point) String() string {
	if p.call == "" {
		return fmt.Sprintf("write %d %s", p.write, p.loss)
	}
	return fmt.Sprintf("call %s %s", p.call, p.fate)
}

// writePoint is the n-th write: the request or the reply is lost, in turn.
func writePoint(n int) point {
	return point{write: n, loss: []framework.Loss{framework.ReplyLost, framework.RequestLost}[n%2]}
}

// trap closes when a manager is at a point.
type trap struct {
	closed <-chan struct{}
	// release has the late call be done; nil for other points.
	release func()
}

// set sets a trap, and returns it with the manager's way to the API server.
func (p point) set(w *world) (trap, *rest.Config) {
	GinkgoHelper()
	config := site.Config()
	switch {
	case p.call == "":
		proxy, err := site.NewWriteProxy(config, p.write, p.loss)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(proxy.Stop)
		return trap{closed: proxy.Closed()}, proxy.Config()
	case p.fate == notAnswered:
		hold := w.project.fake.Hold(p.call, fake.DelayAnswer)
		DeferCleanup(hold.Release)
		return trap{closed: hold.Arrived}, config
	default: // it waits for the end of the cloud, unless it is released before
		hold := w.project.fake.Hold(p.call, fake.Delay)
		t := trap{closed: hold.Arrived}
		if p.fate == late {
			t.release = hold.Release
		}
		return t, config
	}
}

func (t trap) isClosed() bool {
	select {
	case <-t.closed:
		return true
	default:
		return false
	}
}

// dies has a manager walk a path that serves this world alone, and kills it at the point, or at the end. It returns the trap, and whether it
// has closed.
func (p *path) dies(ctx context.Context, w *world, at point) (trap, bool) {
	GinkgoHelper()
	t, config := at.set(w)
	m, err := site.Launch(ctx, framework.ManagerOptions{
		Name: "mortal-of-" + w.name, Config: config, Args: append([]string{"--namespace=" + w.name, "--watch-filter=" + w.name}, managerArgs...),
	})
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(g Gomega) {
		g.Expect(m.Running()).To(BeTrue(), "the manager ended by itself")
		if !t.isClosed() {
			p.walked(ctx, w, g)
		}
	}, patience, "100ms").Should(Succeed(), "%s of %s", at, w.name)
	Expect(m.Kill()).To(Succeed())
	w.project.fake.ClearFaults()
	return t, t.isClosed()
}
