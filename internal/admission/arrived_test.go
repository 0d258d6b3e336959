// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// restorer says whether the user may restore.
type restorer bool

// May implements Rights.
func (r restorer) May(_ context.Context, _ authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	return bool(r) && what.Verb == "manage" && what.Resource == "ipallocations", nil
}

// restorerIn is the namespace in which the user may restore.
type restorerIn string

// May implements Rights.
func (r restorerIn) May(_ context.Context, _ authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	return what.Namespace == string(r) && what.Verb == "manage" && what.Resource == "ipallocations", nil
}

// unknowing cannot say what anybody may do.
type unknowing struct{}

// May implements Rights.
func (unknowing) May(context.Context, authenticationv1.UserInfo, authorizationv1.ResourceAttributes) (bool, error) {
	return false, errors.New("too many requests")
}

func TestWhatMayHaveArrivedIsNotTakenForNew(t *testing.T) {
	t.Parallel()
	object := rawYAML(t, `{metadata: {finalizers: [ipam.weir.dev/claim]}}`)
	req := request(admissionv1.Create, runtime.RawExtension{Raw: object}, runtime.RawExtension{}, "jo")
	req.Kind, req.Options = kindNamed("IPAddressClaim"), raw(t, metav1.CreateOptions{})
	if response := (arrivals{rights: unknowing{}, doors: clusterAPI}).mark(t.Context(), req); response.Allowed || response.Result.Code != http.StatusInternalServerError {
		t.Errorf("%+v, want an internal error", response)
	}
}

// TestWhatSomebodyElseMakesHasArrived looks at creations of what is Weir's to make.
func TestWhatSomebodyElseMakesHasArrived(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		rights                      Rights
		kind, manager, object, want string
	}{
		"a record that is restored, whose revision says nothing": {
			rights: restorer(false), kind: "IPAllocation", manager: "velero-server", object: `{metadata: {}, spec: {manager: {instance: m, createdRevision: "7"}}}`,
			want: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}, spec: {manager: {instance: m}}}`,
		},
		"a record of Weir's": {
			rights: restorer(true), kind: "IPAllocation", manager: ipamv1.FieldManager, object: `{metadata: {}, spec: {}}`, want: `{metadata: {}, spec: {}}`,
		},
		"a record that somebody restores in one namespace who says that he is Weir": {
			rights: restorerIn("team"), kind: "IPAllocation", manager: ipamv1.FieldManager, object: `{metadata: {}, spec: {manager: {createdRevision: "7"}}}`,
			want: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}, spec: {manager: {}}}`,
		},
		"an IPAddress that has been an answer": {
			rights: restorer(true), kind: "IPAddress", manager: "clusterctl", object: `{metadata: {annotations: {a: b}, finalizers: [ipam.weir.dev/address]}}`,
			want: `{metadata: {annotations: {a: b, ipam.weir.dev/arrived: "true"}, finalizers: [ipam.weir.dev/address]}}`,
		},
		"an IPAddress made by hand": {kind: "IPAddress", manager: "kubectl", object: `{metadata: {}}`, want: `{metadata: {}}`},
		"an answer of Weir's": {
			kind: "IPAddress", manager: ipamv1.FieldManager, object: `{metadata: {finalizers: [ipam.weir.dev/address]}}`,
			want: `{metadata: {finalizers: [ipam.weir.dev/address]}}`,
		},
		"a claim that has been one": {
			rights: restorer(true), kind: "IPAddressClaim", object: `{metadata: {finalizers: [a/b, ipam.weir.dev/claim]}}`,
			want: `{metadata: {finalizers: [a/b, ipam.weir.dev/claim], annotations: {ipam.weir.dev/arrived: "true"}}}`,
		},
		"a claim that somebody who may not restore says has been one": {
			rights: restorer(false), kind: "IPAddressClaim", object: `{metadata: {finalizers: [ipam.weir.dev/claim]}}`,
			want: `{metadata: {finalizers: [ipam.weir.dev/claim]}}`,
		},
		"a claim whose maker says himself that it has been one": {
			rights: restorer(false), kind: "IPAddressClaim",
			object: `{metadata: {finalizers: [ipam.weir.dev/claim], annotations: {ipam.weir.dev/arrived: "true"}}}`,
			want:   `{metadata: {finalizers: [ipam.weir.dev/claim], annotations: {}}}`,
		},
		"a claim whose maker says so without a value": {
			rights: restorer(false), kind: "IPAddressClaim", object: `{metadata: {annotations: {ipam.weir.dev/arrived: ""}}}`,
			want: `{metadata: {annotations: {}}}`,
		},
		"an IPAddress whose maker says himself that it has been an answer, and that he is Weir": {
			rights: restorer(false), kind: "IPAddress", manager: ipamv1.FieldManager,
			object: `{metadata: {finalizers: [ipam.weir.dev/address], annotations: {ipam.weir.dev/arrived: "true"}}}`,
			want:   `{metadata: {finalizers: [ipam.weir.dev/address], annotations: {}}}`,
		},
		"a new claim":                   {kind: "IPAddressClaim", object: `{metadata: {finalizers: [a/b]}}`, want: `{metadata: {finalizers: [a/b]}}`},
		"an object that cannot be read": {kind: "IPAddress", object: `{metadata: {finalizers: 5}}`, want: `{metadata: {finalizers: 5}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			object := rawYAML(t, test.object)
			req := request(admissionv1.Create, runtime.RawExtension{Raw: object}, runtime.RawExtension{}, "jo")
			req.Kind, req.Options = kindNamed(test.kind), raw(t, metav1.CreateOptions{FieldManager: test.manager})
			req.Namespace = "team"
			response := arrivals{rights: test.rights, doors: clusterAPI}.mark(t.Context(), req)
			if !response.Allowed {
				t.Errorf("refused: %v", response.Result)
			}
			if diff := cmp.Diff(decoded(t, rawYAML(t, test.want)), decoded(t, patched(t, object, response))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPoolsOfADoorThatArrive looks at creations and updates of a door's pools: those that came with what they have keep the mark.
func TestPoolsOfADoorThatArrive(t *testing.T) {
	t.Parallel()
	doors := Doors{Pools: []pools.Kind{{GroupKind: schema.GroupKind{Group: kinds.IPPool.Group, Kind: "Subnet"}, Finalizer: "door/subnet"}}}
	for sentence, test := range map[string]struct {
		rights            Rights
		old, object, want string
	}{
		"one that has been a pool": {
			rights: restorer(true), object: `{metadata: {finalizers: [door/subnet]}}`,
			want: `{metadata: {finalizers: [door/subnet], annotations: {ipam.weir.dev/arrived: "true"}}}`,
		},
		"one that somebody who may not restore says has been one": {
			rights: restorer(false), object: `{metadata: {finalizers: [door/subnet], annotations: {ipam.weir.dev/arrived: "true"}}}`,
			want: `{metadata: {finalizers: [door/subnet], annotations: {}}}`,
		},
		"a new one": {
			rights: restorer(true), object: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}}`, want: `{metadata: {annotations: {}}}`,
		},
		"one that loses the mark": {
			old: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}}`, object: `{metadata: {annotations: {a: b}}}`,
			want: `{metadata: {annotations: {a: b, ipam.weir.dev/arrived: "true"}}}`,
		},
		"one that loses all annotations": {
			old: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}}`, object: `{metadata: {}}`,
			want: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}}`,
		},
		"one that never had it": {old: `{metadata: {}}`, object: `{metadata: {}}`, want: `{metadata: {}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			object, operation, old := rawYAML(t, test.object), admissionv1.Create, runtime.RawExtension{}
			if test.old != "" {
				operation, old.Raw = admissionv1.Update, rawYAML(t, test.old)
			}
			req := request(operation, runtime.RawExtension{Raw: object}, old, "jo")
			req.Kind, req.Options = kindNamed("Subnet"), raw(t, metav1.CreateOptions{})
			response := arrivals{rights: test.rights, doors: doors}.mark(t.Context(), req)
			if !response.Allowed {
				t.Errorf("refused: %v", response.Result)
			}
			if diff := cmp.Diff(decoded(t, rawYAML(t, test.want)), decoded(t, patched(t, object, response))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestClaimsAndAnswersKeepTheMark looks at updates of claims and answers. clusterctl leaves the mark out when a move is called again.
func TestClaimsAndAnswersKeepTheMark(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"IPAddressClaim", "IPAddress"} {
		for sentence, test := range map[string]struct {
			old, object, want string
			isWarned          bool
		}{
			"one that loses the mark": {
				old: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}}`, object: `{metadata: {annotations: {a: b}}}`,
				want: `{metadata: {annotations: {a: b, ipam.weir.dev/arrived: "true"}}}`, isWarned: true,
			},
			"one that loses all annotations": {
				old: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}}`, object: `{metadata: {}}`,
				want: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}}`, isWarned: true,
			},
			"one whose mark is emptied": {
				old: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}}`, object: `{metadata: {annotations: {ipam.weir.dev/arrived: ""}}}`,
				want: `{metadata: {annotations: {ipam.weir.dev/arrived: ""}}}`,
			},
			"one that loses an empty mark": {
				old: `{metadata: {annotations: {ipam.weir.dev/arrived: ""}}}`, object: `{metadata: {}}`, want: `{metadata: {}}`,
			},
		} {
			t.Run(kind+" "+sentence, func(t *testing.T) {
				t.Parallel()
				object := rawYAML(t, test.object)
				req := request(admissionv1.Update, runtime.RawExtension{Raw: object}, runtime.RawExtension{Raw: rawYAML(t, test.old)}, "jo")
				req.Kind, req.Options = kindNamed(kind), raw(t, metav1.UpdateOptions{})
				response := arrivals{rights: restorer(false), doors: clusterAPI}.mark(t.Context(), req)
				if diff := cmp.Diff(decoded(t, rawYAML(t, test.want)), decoded(t, patched(t, object, response))); diff != "" || !response.Allowed {
					t.Errorf("%v (-want +got):\n%s", response.Result, diff)
				}
				if test.isWarned != (len(response.Warnings) == 1) {
					t.Errorf("warnings %q, want one: %t", response.Warnings, test.isWarned)
				}
			})
		}
	}
}

// TestRecordsKeepTheMarkAndTheirAge looks at updates of records by somebody else than Weir. clusterctl that is called again replaces one
// by its source, which has no mark, and was made at a revision of another cluster.
func TestRecordsKeepTheMarkAndTheirAge(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct{ old, object, want string }{
		"one that is replaced by its source": {
			old:    `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}, spec: {manager: {instance: here}}}`,
			object: `{metadata: {}, spec: {manager: {instance: there, createdRevision: "7"}}}`,
			want:   `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}, spec: {manager: {instance: there}}}`,
		},
		"one that Weir has written here before": {
			old:    `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}, spec: {manager: {createdRevision: "40"}}}`,
			object: `{metadata: {}, spec: {manager: {createdRevision: "7"}}}`,
			want:   `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}, spec: {manager: {createdRevision: "40"}}}`,
		},
		"one whose source has no manager": {
			old:    `{metadata: {}, spec: {manager: {instance: here, createdRevision: "40"}}}`,
			object: `{metadata: {}, spec: {}}`,
			want:   `{metadata: {}, spec: {manager: {createdRevision: "40"}}}`,
		},
		"one whose mark is emptied": {
			old: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}}`, object: `{metadata: {annotations: {ipam.weir.dev/arrived: ""}}}`,
			want: `{metadata: {annotations: {ipam.weir.dev/arrived: "true"}}}`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			object := rawYAML(t, test.object)
			req := request(admissionv1.Update, runtime.RawExtension{Raw: object}, runtime.RawExtension{Raw: rawYAML(t, test.old)}, "jo")
			req.Kind, req.Options = kindNamed("IPAllocation"), raw(t, metav1.UpdateOptions{})
			response := arrivals{rights: restorer(true), doors: clusterAPI}.mark(t.Context(), req)
			if diff := cmp.Diff(decoded(t, rawYAML(t, test.want)), decoded(t, patched(t, object, response))); diff != "" || !response.Allowed {
				t.Errorf("%v (-want +got):\n%s", response.Result, diff)
			}
		})
	}
}

// TestArrivalsAreMarkedBeforeTheFinalizerIsGiven: the API server asks the webhooks in the order of the configuration.
func TestArrivalsAreMarkedBeforeTheFinalizerIsGiven(t *testing.T) {
	t.Parallel()
	manifests, err := os.ReadFile("../../config/webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	marks := bytes.Index(manifests, []byte("name: arrival.ipaddressclaim.ipam.weir.dev"))
	gives := bytes.Index(manifests, []byte("name: default.ipaddressclaim.ipam.weir.dev"))
	if marks < 0 || gives < marks {
		t.Errorf("marked at byte %d, given at byte %d: every new claim would count as arrived", marks, gives)
	}
}

// TestAnotherControllersAnswerIsRefused: pools that two controllers may serve must not be served by both.
func TestAnotherControllersAnswerIsRefused(t *testing.T) {
	t.Parallel()
	const finalizer = "ipam.shared.test/answer"
	doors := Doors{
		Forms: []door.Form{clusterapi.Form{Others: map[schema.GroupKind]clusterapi.Ways{
			{Group: "ipam.shared.test", Kind: "IPPool"}: {Conventions: door.Conventions{AnswerFinalizer: finalizer, IsShared: true}},
		}}},
		Live: fake.NewClientBuilder().Build(),
	}
	for sentence, test := range map[string]struct {
		rights           Rights
		group, finalizer string
		allowed          bool
	}{
		"what somebody makes who may not restore":           {rights: restorer(false), group: "ipam.shared.test", finalizer: finalizer},
		"what is restored":                                  {rights: restorer(true), group: "ipam.shared.test", finalizer: finalizer, allowed: true},
		"what somebody makes by hand":                       {rights: restorer(false), group: "ipam.shared.test", finalizer: "a/b", allowed: true},
		"what somebody makes out of a pool that is Weir's":  {rights: restorer(false), group: ipamv1.GroupVersion.Group, finalizer: "ipam.weir.dev/address", allowed: true},
		"what somebody makes out of another provider's one": {rights: restorer(false), group: "ipam.other.test", finalizer: finalizer, allowed: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			object := rawYAML(t, `{metadata: {finalizers: [`+test.finalizer+`]}, spec: {poolRef: {apiGroup: `+test.group+`, kind: IPPool, name: p}}}`)
			req := request(admissionv1.Create, runtime.RawExtension{Raw: object}, runtime.RawExtension{}, "jo")
			req.Kind, req.Options = kindNamed("IPAddress"), raw(t, metav1.CreateOptions{FieldManager: "manager"})
			response := arrivals{rights: test.rights, doors: doors, recorder: events.NewFakeRecorder(1)}.mark(t.Context(), req)
			if response.Allowed != test.allowed {
				t.Errorf("allowed: %t (%v), want %t", response.Allowed, response.Result, test.allowed)
			}
			if !test.allowed && !strings.Contains(response.Result.Message, "user jo creates IPAddress") {
				t.Errorf("message: %q", response.Result.Message)
			}
		})
	}
}
