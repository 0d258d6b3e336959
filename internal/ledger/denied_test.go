// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

func TestWhichWritesTheAPIServerDenies(t *testing.T) {
	t.Parallel()
	addresses := schema.GroupResource{Group: "ipam.cluster.x-k8s.io", Resource: "ipaddresses"}
	ending := apierrors.NewForbidden(addresses, "a", errors.New("because it is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	webhook := func(code int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: `admission webhook "w" denied the request: no`}}
	}
	for cause, test := range map[string]struct {
		err  error
		want bool
	}{
		"a quota":                      {apierrors.NewForbidden(addresses, "a", errors.New("exceeded quota: q")), true},
		"a namespace that ends":        {ending, true},
		"an invalid name":              {apierrors.NewInvalid(schema.GroupKind{Kind: "IPAddress"}, "M_1", nil), true},
		"a webhook without a code":     {webhook(http.StatusBadRequest), true},
		"a webhook that says conflict": {webhook(http.StatusConflict), true},
		"too large":                    {apierrors.NewRequestEntityTooLargeError("no"), true},
		"exists":                       {apierrors.NewAlreadyExists(addresses, "a"), false},
		"changed":                      {apierrors.NewConflict(addresses, "a", errors.New("changed")), false},
		"gone":                         {apierrors.NewNotFound(addresses, "a"), false},
		"busy":                         {apierrors.NewTooManyRequests("later", 1), false},
		"broken":                       {apierrors.NewInternalError(errors.New("no")), false},
		"unreachable":                  {errors.New("connection refused"), false},
	} {
		got := WriteError("a could not be created", test.err)
		var denied *DeniedError
		if errors.As(got, &denied) != test.want {
			t.Errorf("%s: %v", cause, got)
		}
		if errors.Is(got, test.err) == test.want {
			t.Errorf("%s: the cause is hidden from those who look for it: %t", cause, test.want)
		}
		if !strings.HasPrefix(got.Error(), "a could not be created: "+test.err.Error()) {
			t.Errorf("%s: %v", cause, got)
		}
	}
}

func TestWordsOfTheAPIServerAreCut(t *testing.T) {
	t.Parallel()
	var denied *DeniedError
	if !errors.As(WriteError("x", apierrors.NewBadRequest(strings.Repeat("x", 900_000))), &denied) || len(denied.Words) != excerpt.MaxValue {
		t.Errorf("%d bytes", len(denied.Words))
	}
}
