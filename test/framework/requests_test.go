// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

func TestAPIRequestsCountsWrites(t *testing.T) {
	cp := startControlPlane(t, framework.Options{})
	before, err := framework.APIRequests(t.Context(), cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	configMaps := clientset(t, cp.Config()).CoreV1().ConfigMaps("default")
	for i := range 5 {
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("counted-%d", i)}}
		if _, err = configMaps.Create(t.Context(), configMap, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		configMap.Name += "-dry"
		if _, err = configMaps.Create(t.Context(), configMap, dryRun); err != nil {
			t.Fatal(err)
		}
	}
	after, err := framework.APIRequests(t.Context(), cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	writes := after.Since(before).Writes("")
	key := framework.RequestKey{Verb: "POST", Resource: "configmaps", Code: "201"}
	if writes[key] != 5 {
		t.Errorf("got %v writes of 5: %v", writes[key], writes)
	}
}
