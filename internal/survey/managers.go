// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// managerLabels choose Weir's own objects.
	managerLabels = "cluster.x-k8s.io/provider=ipam-weir"
	// managerContainer is the container of a manager.
	managerContainer = "manager"
	// leaseName is the name of the lease that a leader holds.
	leaseName = "weir-leader.ipam.weir.dev"
)

var (
	deployments  = resource{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, true}
	leases       = resource{schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, true}
	certificates = resource{schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}, true}
)

// Managers are those of one Deployment.
type Managers struct {
	Namespace, Name string
	// Version is the tag of the image.
	Version       string
	Wanted, Ready int
	// Leader holds the lease, since LeaderSince; it has renewed it last at Renewed, and loses it
	// LeaseDuration later. It is "" if there is no lease, or it is not shown.
	Leader               string
	LeaderSince, Renewed time.Time
	LeaseDuration        time.Duration
	// CertificateUntil is when the first of the webhooks' certificates ends; zero if that is not known.
	CertificateUntil time.Time
}

// Installation is what there is of Weir in its namespace.
type Installation struct {
	Namespace string
	// Managers are the Deployments that the user may see.
	Managers []*Managers
	// IsMissing: the user or the webhooks name the namespace, and no Deployment of Weir is in it.
	IsMissing bool
}

// Installation returns the Deployments of Weir. Where none is in the usual namespace, it is a gap that the webhooks, which
// name the right one, may not be read.
func (s *Survey) Installation(ctx context.Context) (*Installation, error) {
	home, err := s.findHome(ctx)
	if err != nil {
		return nil, err
	}
	found := &Installation{Namespace: home.namespace}
	result, err := s.in(Scope{Only: home.namespace}).list(ctx, deployments, query{labels: managerLabels}, func(body io.Reader) error {
		return readItems(body, func(d *deploymentFields) { found.Managers = append(found.Managers, d.managers()) })
	})
	isNone := result == listed && len(found.Managers) == 0
	found.IsMissing = isNone && home.isKnown
	if isNone && !home.isKnown {
		s.gaps.addAll(home.unread)
	}
	for _, m := range found.Managers {
		if err == nil {
			err = s.readLease(ctx, m)
		}
		if err == nil {
			err = s.readCertificates(ctx, m)
		}
	}
	return found, err
}

type deploymentFields struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Replicas *int `json:"replicas"`
		Template struct {
			Spec struct {
				Containers []struct {
					Name  string   `json:"name"`
					Image string   `json:"image"`
					Args  []string `json:"args"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ReadyReplicas int `json:"readyReplicas"`
	} `json:"status"`
}

func (d *deploymentFields) managers() *Managers {
	m := &Managers{Namespace: d.Metadata.Namespace, Name: d.Metadata.Name, Wanted: 1, Ready: d.Status.ReadyReplicas}
	if d.Spec.Replicas != nil {
		m.Wanted = *d.Spec.Replicas
	}
	for _, container := range d.Spec.Template.Spec.Containers {
		image, _, _ := strings.Cut(container.Image, "@")
		if i := strings.LastIndexByte(image, ':'); container.Name == managerContainer && i > strings.LastIndexByte(image, '/') {
			m.Version = image[i+1:]
		}
	}
	return m
}

func (s *Survey) readLease(ctx context.Context, m *Managers) error {
	var lease struct {
		Spec struct {
			HolderIdentity       string           `json:"holderIdentity"`
			AcquireTime          metav1.MicroTime `json:"acquireTime"`
			RenewTime            metav1.MicroTime `json:"renewTime"`
			LeaseDurationSeconds int              `json:"leaseDurationSeconds"`
		} `json:"spec"`
	}
	if _, err := s.get(ctx, leases, m.Namespace, leaseName, &lease); err != nil {
		return err
	}
	// A leader is named by its host and a random text.
	m.Leader, _, _ = strings.Cut(lease.Spec.HolderIdentity, "_")
	m.LeaderSince, m.Renewed = lease.Spec.AcquireTime.Time, lease.Spec.RenewTime.Time
	m.LeaseDuration = time.Duration(lease.Spec.LeaseDurationSeconds) * time.Second
	return nil
}

func (s *Survey) readCertificates(ctx context.Context, m *Managers) error {
	type certificateFields struct {
		Status struct {
			NotAfter metav1.Time `json:"notAfter"`
		} `json:"status"`
	}
	_, err := s.in(Scope{Only: m.Namespace}).list(ctx, certificates, query{labels: managerLabels}, func(body io.Reader) error {
		return readItems(body, func(c *certificateFields) {
			until := c.Status.NotAfter.Time
			if !until.IsZero() && (m.CertificateUntil.IsZero() || until.Before(m.CertificateUntil)) {
				m.CertificateUntil = until
			}
		})
	})
	return err
}
