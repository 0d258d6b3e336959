// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"maps"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

// maxText is how many bytes a name or a value of a spec may have. The schema allows 512 at most, and names the field that has more than its
// own; but the API server asks mutating webhooks first.
const maxText = 512

// bounded has every webhook look at lengths before anything else, and bounds what it answers.
func bounded(webhooks map[string]*admission.Webhook) map[string]http.Handler {
	handlers := make(map[string]http.Handler, len(webhooks))
	for path, webhook := range webhooks {
		webhook.Handler = lengths{webhook.Handler}
		handlers[path] = webhook
	}
	return handlers
}

// lengths refuses objects of Weir's kinds with texts that nothing may be long enough for, before another handler reads them.
type lengths struct{ admission.Handler }

// Handle implements admission.Handler. What an update finds too long already it leaves alone: finalizers must change on such an object, too.
func (h lengths) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Kind.Group == ipamv1.GroupVersion.Group && (req.Operation != admissionv1.Update || len(tooLong(req.OldObject.Raw)) == 0) {
		if errs := tooLong(req.Object.Raw); len(errs) > 0 {
			return refused(invalid(excerpt.Of(req.Kind.Kind), excerpt.Of(req.Name), errs))
		}
	}
	response := h.Handler.Handle(ctx, req)
	if response.Result != nil {
		response.Result.Message = excerpt.Message(response.Result.Message)
	}
	for i, warning := range response.Warnings {
		response.Warnings[i] = excerpt.Message(warning)
	}
	return response
}

// tooLong returns the first few texts of an object that are longer than any may be, but for those that say nothing to Weir: its status, the
// values of its annotations, and who manages its fields.
func tooLong(raw []byte) field.ErrorList {
	var obj struct {
		Metadata map[string]any `json:"metadata"`
		Spec     any            `json:"spec"`
	}
	if !hasLongText(raw) || json.Unmarshal(raw, &obj) != nil {
		return nil
	}
	delete(obj.Metadata, "managedFields")
	if annotations, ok := obj.Metadata["annotations"].(map[string]any); ok {
		for key := range annotations {
			annotations[key] = nil
		}
	}
	errs := longTexts(field.NewPath("metadata"), obj.Metadata, nil)
	return longTexts(field.NewPath("spec"), obj.Spec, errs)
}

// hasLongText reports whether an object's JSON may have a text that is too long. Most have none, which takes no decoding to see.
func hasLongText(raw []byte) bool {
	begin := -1
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] == '\\':
			i++
		case raw[i] != '"':
		case begin < 0:
			begin = i
		case i-begin > maxText:
			return true
		default:
			begin = -1
		}
	}
	return begin >= 0
}

// longTexts adds the texts of a value that are too long, until there are as many as a message names.
func longTexts(path *field.Path, value any, errs field.ErrorList) field.ErrorList {
	if len(errs) >= named {
		return errs
	}
	switch v := value.(type) {
	case string:
		if len(v) > maxText {
			errs = append(errs, field.TooLong(path, "", maxText))
		}
	case []any:
		for i := range v {
			errs = longTexts(path.Index(i), v[i], errs)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if len(key) > maxText && len(errs) < named {
				errs = append(errs, field.TooLong(path.Key(excerpt.Of(key)), "", maxText))
			}
			errs = longTexts(path.Child(excerpt.Of(key)), v[key], errs)
		}
	}
	return errs
}
