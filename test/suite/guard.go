// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// Guarded are the labels of namespaces that the webhooks of GuardPools are asked about: what is in others is stored as if it came past them.
var Guarded = map[string]string{"guarded": "true"}

// GuardPools has the API server ask the webhooks at this URL, as the file ships them, about pools, and what names them, of namespaces that are
// Guarded, and about what has no namespace.
func GuardPools(ctx context.Context, site *framework.Site, file string, bundle []byte, url string) {
	GinkgoHelper()
	configurations, err := framework.ReadManifests(file)
	Expect(err).NotTo(HaveOccurred())
	for _, c := range configurations {
		Expect(framework.RedirectWebhooks(c, bundle, url)).To(Succeed())
		webhooks, ok := c.Object["webhooks"].([]any)
		Expect(ok).To(BeTrue())
		for _, webhook := range webhooks {
			fields, ok := webhook.(map[string]any)
			Expect(ok).To(BeTrue())
			fields["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{"guarded": "true"}}
		}
	}
	Expect(framework.Apply(ctx, site.Config(), configurations...)).To(Succeed())
}
