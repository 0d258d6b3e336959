// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// events returns the reasons of the events about an object, in no order.
func events(ctx context.Context, obj client.Object) []string {
	GinkgoHelper()
	list := &eventsv1.EventList{}
	Expect(k.List(ctx, list, client.InNamespace(obj.GetNamespace()))).To(Succeed())
	var reasons []string
	for i := range list.Items {
		if list.Items[i].Regarding.UID == obj.GetUID() {
			reasons = append(reasons, list.Items[i].Reason)
		}
	}
	return reasons
}
