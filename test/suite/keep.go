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
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{kind.Group}, APIVersions: []string{kind.Version}, Resources: []string{resource},
					},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: words}},
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
	kept := &metav1.PartialObjectMetadata{}
	kept.SetGroupVersionKind(kind)
	Eventually(func() error {
		return c.DeleteAllOf(ctx, kept.DeepCopy(), client.InNamespace(namespace), client.DryRunAll)
	}, "1m", "100ms").Should(MatchError(ContainSubstring(words)))
	return func() {
		GinkgoHelper()
		Expect(c.Delete(ctx, binding)).To(Succeed())
		Expect(c.Delete(ctx, policy)).To(Succeed())
	}
}
