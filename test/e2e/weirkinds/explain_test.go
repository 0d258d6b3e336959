// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/rehearsal"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// leastAgreed is of how many claims a decision taken anew must have said the same as the manager, in a run of the whole suite.
const leastAgreed = 40

// agreed are the IPClaims of which it has, by how they stood.
var agreed = map[types.UID]string{}

// agree expects that whoever decides anew about the IPClaims that a spec has left tells each just what it was told.
func agree(ctx context.Context) {
	GinkgoHelper()
	scheme, err := rehearsal.Scheme()
	Expect(err).NotTo(HaveOccurred())
	c, err := client.New(site.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	stage := &rehearsal.Stage{Client: c, Clock: clock.RealClock{}, Platform: "platform", Namespace: framework.ManagerNamespace}
	all := &ipamv1.IPClaimList{}
	Expect(c.List(ctx, all)).To(Succeed())
	for i := range all.Items {
		claim := &all.Items[i]
		Eventually(func(g Gomega) {
			err := c.Get(ctx, client.ObjectKeyFromObject(claim), claim)
			told := meta.FindStatusCondition(claim.Status.Conditions, ipamv1.ReadyCondition)
			if apierrors.IsNotFound(err) || told == nil || told.Reason == ipamv1.ClaimReadyRefusedByAPIServerReason || agreed[claim.UID] == standing(told) {
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			e, err := stage.Explain(ctx, kinds.IPClaim, client.ObjectKeyFromObject(claim))
			g.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
			if err != nil || e.Ready == nil {
				return
			}
			g.Expect(standing(e.Ready)).To(Equal(standing(told)), "%s %s: %+v", claim.Namespace, claim.Name, e.Steps)
			agreed[claim.UID] = standing(told)
		}, patience, "200ms").Should(Succeed())
	}
}

func standing(c *metav1.Condition) string {
	return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
}

// countAgreed expects that a run of the whole suite has compared enough of them.
func countAgreed() {
	GinkgoHelper()
	framework.Account(fmt.Sprintf("Explain agreed on %d IPClaims", len(agreed)))
	if s, _ := GinkgoConfiguration(); len(s.FocusStrings) == 0 && len(s.SkipStrings) == 0 {
		Expect(len(agreed)).To(BeNumerically(">=", leastAgreed))
	}
}
