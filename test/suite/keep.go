// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// KeepAll has a policy refuse, in these words, that objects of a kind are deleted in a namespace, where there is one at least. What it
// returns ends that.
func KeepAll(ctx context.Context, c client.Client, namespace string, kind schema.GroupVersionKind, resource, words string) (end func()) {
	GinkgoHelper()
	kept := &metav1.PartialObjectMetadata{}
	kept.SetGroupVersionKind(kind)
	return policy(ctx, c, namespace, admissionregistrationv1.Delete, kind.GroupVersion().WithResource(resource), "false", words, func() error {
		return c.DeleteAllOf(ctx, kept.DeepCopy(), client.InNamespace(namespace), client.DryRunAll)
	})
}

// WantOfNew has a policy want, in these words, what the expression says of new objects of a kind in a namespace. The sample is one that it
// refuses, and is not stored. What it returns ends that.
func WantOfNew(ctx context.Context, c client.Client, sample client.Object, resource, expression, words string) (end func()) {
	GinkgoHelper()
	kind, err := c.GroupVersionKindFor(sample)
	Expect(err).NotTo(HaveOccurred())
	return policy(ctx, c, sample.GetNamespace(), admissionregistrationv1.Create, kind.GroupVersion().WithResource(resource), expression, words, func() error {
		return c.Create(ctx, sample.DeepCopyObject().(client.Object), client.DryRunAll) //nolint:forcetypeassert // a copy is of the same type
	})
}

// policy makes one for a namespace, named after that, and waits until a try is refused in its words.
func policy(ctx context.Context, c client.Client, namespace string, operation admissionregistrationv1.OperationType,
	kind schema.GroupVersionResource, expression, words string, try func() error,
) (end func()) {
	GinkgoHelper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{operation},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{kind.Group}, APIVersions: []string{kind.Version}, Resources: []string{kind.Resource},
					},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: expression, Message: words}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	Expect(c.Create(ctx, policy)).To(Succeed())
	Expect(c.Create(ctx, binding)).To(Succeed())
	Eventually(try, "1m", "100ms").Should(MatchError(ContainSubstring(words)))
	return func() {
		GinkgoHelper()
		Expect(c.Delete(ctx, binding)).To(Succeed())
		Expect(c.Delete(ctx, policy)).To(Succeed())
	}
}
