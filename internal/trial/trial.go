// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trial asks the API server, on dry run, whether it would store objects. Nothing is stored.
package trial

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldOwner is whom the API server takes for the owner of fields that a trial changes.
const fieldOwner = "kubectl-weir"

// Verdict is what the API server would do with an object.
type Verdict string

// What the API server may do with an object.
const (
	// Created: it would store a new object.
	Created Verdict = "Created"
	// Applied: there is one of that name, which it would change to what is asked for, or leave as it is.
	Applied Verdict = "Applied"
	// Refused: it would store nothing.
	Refused Verdict = "Refused"
)

// Attempt is what came of a trial.
type Attempt struct {
	// Object is what would be stored, with what webhooks write; of a refused one it is what was asked for.
	Object  *unstructured.Unstructured
	Verdict Verdict
	// Warnings are the API server's, which may come with any verdict.
	Warnings []string
	// Refusal is there if the object was refused.
	Refusal *Refusal
}

// Bench tries objects, one after the other, with the rights of its configuration.
type Bench struct {
	client   client.Client
	warnings *warnings
}

// NewBench returns a bench. It errs where no client can be made by the configuration.
func NewBench(config *rest.Config, mapper meta.RESTMapper) (*Bench, error) {
	heard := &warnings{}
	config = rest.CopyConfig(config)
	config.WarningHandler = heard
	c, err := client.New(config, client.Options{Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return &Bench{client: client.NewDryRunClient(c), warnings: heard}, nil
}

// Try asks for an object to be stored: created, or applied to the one that there is. It errs where the API server gave no answer.
func (b *Bench) Try(ctx context.Context, object *unstructured.Unstructured) (*Attempt, error) {
	b.warnings.texts = nil
	attempt := &Attempt{Object: object.DeepCopy(), Verdict: Created}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(object.GroupVersionKind())
	var err error
	if object.GetName() != "" && b.client.Get(ctx, client.ObjectKeyFromObject(object), stored) == nil {
		attempt.Verdict = Applied
		attempt.Object.SetManagedFields(nil)
		err = b.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(attempt.Object), client.FieldOwner(fieldOwner), client.ForceOwnership)
	} else {
		err = b.client.Create(ctx, attempt.Object)
	}
	attempt.Warnings = b.warnings.texts
	if err == nil {
		return attempt, nil
	}
	var answered apierrors.APIStatus
	if !errors.As(err, &answered) {
		return nil, fmt.Errorf("trying %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	attempt.Object, attempt.Verdict, attempt.Refusal = object, Refused, refusalOf(answered.Status())
	return attempt, nil
}

// warnings are what the API server warns of in answers.
type warnings struct{ texts []string }

// warningCode is the one code of warnings that there is, of RFC 7234.
const warningCode = 299

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	if code == warningCode && text != "" {
		w.texts = append(w.texts, text)
	}
}
