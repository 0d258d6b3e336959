// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

// long is a text that etcd could store and no field may have.
var long = strings.Repeat("a", 900_000)

// kindAt is the kind that a webhook of Weir's kinds is asked about.
var kindAt = map[string]string{
	defaultIPPoolPath: ipamv1.IPPoolKind, validateIPPoolPath: ipamv1.IPPoolKind,
	defaultGlobalIPPoolPath: ipamv1.GlobalIPPoolKind, validateGlobalIPPoolPath: ipamv1.GlobalIPPoolKind,
	defaultIPClaimPath: ipamv1.IPClaimKind, validateIPClaimPath: ipamv1.IPClaimKind,
	keepIPAllocationPath: ipamv1.IPAllocationKind, markArrivalPath: ipamv1.IPAllocationKind,
}

// answerTo asks a webhook about an object.
func answerTo(t *testing.T, webhook http.Handler, kind string, operation admissionv1.Operation, object, old string) admission.Response {
	t.Helper()
	req := request(operation, runtime.RawExtension{Raw: []byte(object)}, runtime.RawExtension{Raw: []byte(old)}, "jo")
	req.Kind = kindNamed(kind)
	answering, ok := webhook.(*admission.Webhook)
	if !ok {
		t.Fatalf("a %T", webhook)
	}
	return answering.Handler.Handle(t.Context(), req)
}

func TestEveryWebhookLooksAtLengthsFirst(t *testing.T) {
	t.Parallel()
	all := webhooks(scheme(t), optionsWith(t, held{}), everything)
	for path, webhook := range all {
		kind, isWeirs := kindAt[path]
		if !isWeirs {
			continue
		}
		for text, want := range map[string]string{
			`{"metadata":{"name":"a"},"spec":{"poolRef":{"kind":"IPPool","name":"%s"}}}`:     `spec.poolRef.name: Too long: may not be more than 512 bytes`,
			`{"metadata":{"name":"a"},"spec":{"parentRef":{"kind":"IPPool","name":"%s"}}}`:   `spec.parentRef.name: Too long`,
			`{"metadata":{"name":"a"},"spec":{"addresses":["%s"]}}`:                          `spec.addresses[0]: Too long`,
			`{"metadata":{"name":"a"},"spec":{"%s":1}}`:                                      `...]: Too long`,
			`{"metadata":{"name":"%s"},"spec":{"poolRef":{"kind":"IPPool","name":"p"}}}`:     `metadata.name: Too long`,
			`{"metadata":{"generateName":"%s"},"spec":{"cidr":"192.0.2.0/24"}}`:              `metadata.generateName: Too long`,
			`{"metadata":{"uid":"%s"},"spec":{"poolRef":{"kind":"IPPool","name":"p"}}}`:      `metadata.uid: Too long`,
			`{"metadata":{"labels":{"a":"%s"}},"spec":{"poolSelector":{"kind":"IPPool"}}}`:   `metadata.labels.a: Too long`,
			`{"metadata":{"annotations":{"ipam.weir.dev/%s":""}},"spec":{"prefixLength":1}}`: `...]: Too long`,
			`{"metadata":{"finalizers":["%s"]},"spec":{"cidr":"192.0.2.0/24"}}`:              `metadata.finalizers[0]: Too long`,
		} {
			object := fmt.Sprintf(text, long)
			got := answerTo(t, webhook, kind, admissionv1.Create, object, "")
			if got.Allowed || got.Result.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Result.Message, want) {
				t.Errorf("%s: %s: %d %.300s", path, text, got.Result.Code, got.Result.Message)
			}
			if len(got.Result.Message) > 1000 || len(got.Warnings) > 0 {
				t.Errorf("%s: %s: a message of %d bytes, and %d warnings", path, text, len(got.Result.Message), len(got.Warnings))
			}
		}
	}
}

// TestWhatMayBeLongIsNoMistake: the values of annotations, what is stored already, and other kinds.
func TestWhatMayBeLongIsNoMistake(t *testing.T) {
	t.Parallel()
	all := webhooks(scheme(t), optionsWith(t, held{}), everything)
	applied := fmt.Sprintf(`{"metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"\"%s\""},`+
		`"managedFields":[{"manager":"%s"}]},"spec":{"cidr":"192.0.2.0/24"},"status":{"conditions":[{"message":"%s"}]}}`, long, long, long)
	if got := answerTo(t, all[defaultIPPoolPath], ipamv1.IPPoolKind, admissionv1.Create, applied, ""); !got.Allowed {
		t.Errorf("refused what an apply has noted: %.300s", got.Result.Message)
	}
	stored := fmt.Sprintf(`{"metadata":{"name":"a","finalizers":["f"]},"spec":{"clusterName":"%s"}}`, long)
	freed := fmt.Sprintf(`{"metadata":{"name":"a"},"spec":{"clusterName":"%s"}}`, long)
	if got := answerTo(t, all[defaultIPPoolPath], ipamv1.IPPoolKind, admissionv1.Update, freed, stored); !got.Allowed {
		t.Errorf("refused to take a finalizer off: %.300s", got.Result.Message)
	}
	if got := answerTo(t, all[defaultIPPoolPath], ipamv1.IPPoolKind, admissionv1.Update, freed, `{"metadata":{"name":"a"},"spec":{}}`); got.Allowed {
		t.Error("admitted an update to a name that is too long")
	}
	other := fmt.Sprintf(`{"metadata":{"name":"a","annotations":{"ipam.weir.dev/%s":""}},"spec":{"poolRef":{"apiGroup":"ipam.weir.dev","kind":"IPPool","name":"p"}}}`, long)
	got := answerTo(t, all[defaultAddressClaimPath], "IPAddressClaim", admissionv1.Create, other, "")
	if !got.Allowed || len(got.Warnings) != 1 || len(got.Warnings[0]) > 2*excerpt.MaxValue {
		t.Errorf("a claim of Cluster API: allowed %t, %d warnings", got.Allowed, len(got.Warnings))
	}
}

// TestTheSchemaAllowsNothingLonger: what these webhooks refuse the schema would refuse, too.
func TestTheSchemaAllowsNothingLonger(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema struct {
							Properties map[string]any `json:"properties"`
						} `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			if longest := longestIn(v.Schema.OpenAPIV3Schema.Properties["spec"]); longest == 0 || longest > maxText {
				t.Errorf("%s: a text of spec may have %.0f characters", file, longest)
			}
		}
	}
}

// longestIn returns the largest maxLength of a schema.
func longestIn(schema any) (longest float64) {
	switch s := schema.(type) {
	case []any:
		for _, part := range s {
			longest = max(longest, longestIn(part))
		}
	case map[string]any:
		if length, ok := s["maxLength"].(float64); ok {
			longest = length
		}
		for _, part := range s {
			longest = max(longest, longestIn(part))
		}
	}
	return longest
}
