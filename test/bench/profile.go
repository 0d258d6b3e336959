// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

const (
	profiler       = "profiler"
	profilePath    = "/debug/pprof/profile"
	profileSeconds = "3"
)

// profiled runs a round, and takes CPU profiles of manager and API server
// meanwhile if that is asked for. Profiling costs some of what it measures.
func profiled[R any](ctx context.Context, e *environment, name string, round func() (R, error)) (R, error) {
	if e.profile == "" {
		return round()
	}
	done := make(chan error, 2)
	path := filepath.Join(e.profile, name)
	go func() { done <- e.profileManager(ctx, path+"-manager.pprof") }()
	go func() { done <- e.profileAPIServer(ctx, path+"-kube-apiserver.pprof") }()
	result, err := round()
	return result, errors.Join(err, <-done, <-done)
}

// profileAPIServer gets a profile from the API server.
func (e *environment) profileAPIServer(ctx context.Context, path string) error {
	client, err := kubernetes.NewForConfig(e.config)
	if err != nil {
		return fmt.Errorf("building a client: %w", err)
	}
	body, err := client.RESTClient().Get().AbsPath(profilePath).Param("seconds", profileSeconds).DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("getting the API server's profile: %w", err)
	}
	return os.WriteFile(path, body, 0o600)
}

// profileManager gets a profile from the manager's diagnostics endpoint.
func (e *environment) profileManager(ctx context.Context, path string) error {
	url := "https://" + e.diagnostics + profilePath + "?seconds=" + profileSeconds
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("building the profile's request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+e.profilerToken)
	// The manager makes its certificate itself.
	insecure := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		Timeout:   time.Minute,
	}
	resp, err := insecure.Do(req)
	if err != nil {
		return fmt.Errorf("getting the manager's profile: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("getting the manager's profile: %s: %w", resp.Status, errors.Join(err, errors.New(string(body))))
	}
	return os.WriteFile(path, body, 0o600)
}

// openDiagnostics has the manager serve profiles to an account made for it, if
// they are asked for, and otherwise nothing.
func (e *environment) openDiagnostics(ctx context.Context) error {
	if e.profile == "" {
		return nil
	}
	port, err := framework.FreePort()
	if err != nil {
		return err
	}
	e.diagnostics = fmt.Sprintf("127.0.0.1:%d", port)
	e.managerArgs = append(e.managerArgs, "--diagnostics-address="+e.diagnostics)
	name := metav1.ObjectMeta{Namespace: benchNamespace, Name: profiler}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: name},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: profiler},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: benchNamespace, Name: profiler}},
		},
	} {
		if err = e.client.Create(ctx, object); err != nil {
			return fmt.Errorf("making the profiler's account: %w", err)
		}
	}
	config, err := framework.ServiceAccountConfig(ctx, e.config, benchNamespace, profiler)
	if err != nil {
		return err
	}
	e.profilerToken = config.BearerToken
	return os.MkdirAll(e.profile, 0o700)
}
