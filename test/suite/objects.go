// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Namespace makes a namespace with these labels, and returns its name.
func Namespace(ctx context.Context, c client.Client, labels map[string]string) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-", Labels: labels}}
	Expect(c.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// Settled waits until what is released in a namespace from now on cannot be of an earlier namespace of the name, and may be named: times have
// whole seconds.
func Settled(ctx context.Context, c client.Reader, name string) {
	GinkgoHelper()
	namespace := &corev1.Namespace{}
	Expect(c.Get(ctx, client.ObjectKey{Name: name}, namespace)).To(Succeed())
	Eventually(time.Now, patience, "100ms").Should(BeTemporally(">", namespace.CreationTimestamp.Add(2*time.Second)))
}

// Change changes an object as it is now: Weir writes to it as well.
func Change(ctx context.Context, c client.Client, obj client.Object, how func()) {
	GinkgoHelper()
	Eventually(func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		how()
		return c.Update(ctx, obj)
	}, patience, "100ms").Should(Succeed())
}

// Gone waits until objects of these names are gone.
func Gone(ctx context.Context, c client.Reader, objs ...client.Object) {
	GinkgoHelper()
	for _, obj := range objs {
		Eventually(func() error { return c.Get(ctx, client.ObjectKeyFromObject(obj), obj) }, patience, "100ms").
			Should(Satisfy(apierrors.IsNotFound), "%T %s", obj, obj.GetName())
	}
}

// Items returns the objects of a list.
func Items(list client.ObjectList) []client.Object {
	GinkgoHelper()
	var objects []client.Object
	Expect(meta.EachListItem(list, func(obj runtime.Object) error {
		objects = append(objects, obj.(client.Object)) //nolint:forcetypeassert // all are
		return nil
	})).To(Succeed())
	return objects
}
