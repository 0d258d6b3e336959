// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// Contexts returns a kubeconfig with a context for each site.
func Contexts(sites map[string]*framework.Site) string {
	GinkgoHelper()
	merged := clientcmdapi.NewConfig()
	for name, s := range sites {
		own, err := clientcmd.LoadFromFile(s.KubeconfigPath())
		Expect(err).NotTo(HaveOccurred())
		of := own.Contexts[own.CurrentContext]
		merged.Clusters[name], merged.AuthInfos[name] = own.Clusters[of.Cluster], own.AuthInfos[of.AuthInfo]
		of.Cluster, of.AuthInfo = name, name
		merged.Contexts[name] = of
	}
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*merged, path)).To(Succeed())
	return path
}
