// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/rehearsal"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// agreed counts the conditions that Explain has said as the manager did.
var agreed int

// leastAgreed is how many that must be in a run of the whole suite.
const leastAgreed = 100

// explain asks the controller's questions about a claim, by what the API server shows now, without the manager.
func explain(ctx context.Context, c *ipamv1beta2.IPAddressClaim) (*explanation.Explanation, error) {
	stage := &rehearsal.Stage{Client: k, Clock: clock.RealClock{}, Platform: "platform", Namespace: framework.ManagerNamespace}
	return stage.Explain(ctx, clusterapi.Form{}.Kinds().Claim.GroupKind(), client.ObjectKeyFromObject(c))
}

// agrees expects of a claim whose condition stands that Explain says the same. What it cannot decide says nothing.
func agrees(ctx context.Context, c *ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := &ipamv1beta2.IPAddressClaim{}
		if k.Get(ctx, client.ObjectKeyFromObject(c), now) != nil || now.UID != c.UID {
			return
		}
		told := conditions.Get(now, ipamv1.ReadyCondition)
		if told == nil || told.Reason == ipamv1.ClaimReadyRefusedByAPIServerReason { // nobody asks the API server
			return
		}
		e, err := explain(ctx, now)
		g.Expect(err).NotTo(HaveOccurred())
		if e.Ready == nil {
			return
		}
		says := func(c *metav1.Condition) string { return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message) }
		g.Expect(says(e.Ready)).To(Equal(says(told)), "%+v", e.Steps)
		agreed++
	}, "20s", "100ms").Should(Succeed())
}

var _ = AfterSuite(func() {
	framework.Account(fmt.Sprintf("Explain agreed with %d conditions", agreed))
	if s, _ := GinkgoConfiguration(); len(s.FocusStrings) == 0 && len(s.SkipStrings) == 0 {
		Expect(agreed).To(BeNumerically(">=", leastAgreed))
	}
})
