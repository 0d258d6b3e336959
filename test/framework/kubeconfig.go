// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	serviceAccountPrefix = "system:serviceaccount:"
	tokenSeconds         = 24 * 60 * 60
)

// WriteKubeconfig writes a kubeconfig file with cfg's server and credentials.
func WriteKubeconfig(cfg *rest.Config, path string) error {
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["weir"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	kubeconfig.AuthInfos["weir"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: cfg.CertData,
		ClientKeyData:         cfg.KeyData,
		Token:                 cfg.BearerToken,
	}
	kubeconfig.Contexts["weir"] = &clientcmdapi.Context{Cluster: "weir", AuthInfo: "weir"}
	kubeconfig.CurrentContext = "weir"
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	return nil
}

// RESTConfigAs returns a configuration that really authenticates as user, so
// that RBAC is tested. The user system:serviceaccount:<namespace>:<name>, which
// must exist, gets a token for a day; anybody else a client certificate with
// the groups.
func (cp *ControlPlane) RESTConfigAs(ctx context.Context, user string, groups ...string) (*rest.Config, error) {
	if account, ok := strings.CutPrefix(user, serviceAccountPrefix); ok {
		namespace, name, _ := strings.Cut(account, ":")
		return ServiceAccountConfig(ctx, cp.Config(), namespace, name)
	}
	pair, err := cp.ca.client(user, groups...)
	if err != nil {
		return nil, err
	}
	return cp.config(pair), nil
}

// ServiceAccountConfig returns a configuration with a token of an existing
// service account, valid for a day.
func ServiceAccountConfig(ctx context.Context, cfg *rest.Config, namespace, name string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	seconds := int64(tokenSeconds)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	request, err = client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("requesting a token of service account %s/%s: %w", namespace, name, err)
	}
	out := rest.AnonymousClientConfig(cfg)
	out.BearerToken = request.Status.Token
	return out, nil
}
