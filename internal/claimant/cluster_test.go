// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// answeringWith reads like the world's API server, but that each Get and List errs so.
func (w *world) answeringWith(err error) client.Reader {
	c, _ := w.Live.(client.WithWatch)
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err },
	})
}

// noSuchKind is what the API server answers where Cluster API is not installed.
var noSuchKind = &meta.NoKindMatchError{GroupKind: clusterv1.GroupVersion.WithKind("Cluster").GroupKind()}

// TestWhichClusterThereIs: where there is none, or no Cluster API, a claim does not wait for it. Where that is not known, it does.
func TestWhichClusterThereIs(t *testing.T) {
	t.Parallel()
	stored := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	for sentence, test := range map[string]struct {
		name   string
		answer error
		found  bool
		err    error
	}{
		"it is there":                    {name: "c", found: true},
		"there is none of the name":      {name: "d"},
		"there is no such kind":          {name: "c", answer: noSuchKind},
		"the API server does not answer": {name: "c", answer: errFailed, err: errFailed},
		"it has no name":                 {answer: errFailed},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, stored)
			reader := w.Live
			if test.answer != nil {
				reader = w.answeringWith(test.answer)
			}
			cluster, err := Cluster(t.Context(), reader, "ns", test.name)
			if (cluster != nil) != test.found || !errors.Is(err, test.err) {
				t.Errorf("%v, %v", cluster, err)
			}
		})
	}
}

// TestTheClusterThatAClaimNames, by which it pauses: the label's, else the one that owns the claim.
func TestTheClusterThatAClaimNames(t *testing.T) {
	t.Parallel()
	machine := metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m"}
	cluster := metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "c"}
	for sentence, test := range map[string]struct {
		labels map[string]string
		owners []metav1.OwnerReference
		want   string
	}{
		"none":                {owners: []metav1.OwnerReference{machine}},
		"a label":             {labels: map[string]string{clusterv1.ClusterNameLabel: "l"}, want: "l"},
		"an owner":            {owners: []metav1.OwnerReference{machine, cluster}, want: "c"},
		"a label and another": {labels: map[string]string{clusterv1.ClusterNameLabel: "l"}, owners: []metav1.OwnerReference{cluster}, want: "l"},
	} {
		claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Labels: test.labels, OwnerReferences: test.owners}}
		if got := ClusterName(claim); got != test.want {
			t.Errorf("%s: %q, want %q", sentence, got, test.want)
		}
	}
}
