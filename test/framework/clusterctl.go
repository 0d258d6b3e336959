// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// coreVersion is the version of Cluster API's core provider in the local repository: the module's.
const coreVersion = "v1.14.2"

// Clusterctl runs clusterctl against one API server, with local repositories for Weir and for Cluster API's core, and
// without cert-manager.
type Clusterctl struct {
	dir        string
	kubeconfig string
}

// NewClusterctl makes the configuration and the repository of the core provider in dir.
func NewClusterctl(dir, kubeconfig string) (*Clusterctl, error) {
	c := &Clusterctl{dir: dir, kubeconfig: kubeconfig}
	return c, errors.Join(c.ChooseComponents(componentsFile), c.writeCore())
}

// ChooseComponents has Weir's URL name one of its sets of components: componentsFile, unless it is called.
func (c *Clusterctl) ChooseComponents(file string) error {
	config := fmt.Sprintf(`providers:
- {name: cluster-api, type: CoreProvider, url: "file://%[1]s/cluster-api/latest/core-components.yaml"}
- {name: weir, type: IPAMProvider, url: "file://%[1]s/ipam-weir/latest/%[2]s"}
- {name: metal3, type: IPAMProvider, url: "file://%[1]s/ipam-metal3/latest/ipam-components.yaml"}
- {name: in-cluster, type: IPAMProvider, url: "file://%[1]s/ipam-in-cluster/latest/ipam-components.yaml"}
cert-manager: {externallyProvisioned: "true", timeout: 60s}
overridesFolder: %[1]s/overrides
`, c.dir, file)
	return writeFiles(c.dir, map[string][]byte{"clusterctl.yaml": []byte(config)})
}

// writeCore makes a core provider of Cluster API's CRDs and a Deployment of no replicas: its controllers are not needed.
func (c *Clusterctl) writeCore() error {
	crds, err := CAPICRDs()
	if err != nil {
		return err
	}
	objects := []any{namespaceOf("capi-system"), emptyDeployment("capi-system", "capi-controller-manager")}
	for _, crd := range crds {
		content, convertErr := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if convertErr != nil {
			return fmt.Errorf("converting CRD %s: %w", crd.Name, convertErr)
		}
		content["apiVersion"], content["kind"] = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
		delete(content, "status")
		objects = append(objects, content)
	}
	components, err := documents(objects)
	if err != nil {
		return err
	}
	dir, err := clusterAPIDir()
	if err != nil {
		return err
	}
	metadata, err := os.ReadFile(filepath.Join(dir, "metadata.yaml"))
	if err != nil {
		return fmt.Errorf("reading Cluster API's metadata: %w", err)
	}
	return writeFiles(filepath.Join(c.dir, "cluster-api", coreVersion), map[string][]byte{
		"core-components.yaml": components, "metadata.yaml": metadata,
	})
}

func documents(objects []any) ([]byte, error) {
	var out bytes.Buffer
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("encoding components: %w", err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}

func namespaceOf(name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
}

func emptyDeployment(namespace, name string) map[string]any {
	labels := map[string]any{"app": name}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"replicas": 0,
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{"containers": []any{
					map[string]any{"name": "manager", "image": "registry.k8s.io/cluster-api/cluster-api-controller:" + coreVersion},
				}},
			},
		},
	}
}

// AddWeir puts a version of Weir into its local repository: a folder as `make release-manifests` writes it, with every
// occurrence of its version changed to this one.
func (c *Clusterctl) AddWeir(release, version string) error {
	files := map[string][]byte{}
	for _, name := range []string{componentsFile, Metal3Components, InClusterComponents, BothComponents, OpenStackComponents, "metadata.yaml"} {
		text, err := os.ReadFile(filepath.Join(release, name))
		if err != nil {
			return fmt.Errorf("reading the release: %w", err)
		}
		old := ":" + filepath.Base(release)
		files[name] = bytes.ReplaceAll(text, []byte(old), []byte(":"+version))
	}
	return writeFiles(filepath.Join(c.dir, "ipam-weir", version), files)
}

// AddStandIn puts a stand-in for the IPAM provider metal3 or in-cluster into its local repository.
func (c *Clusterctl) AddStandIn(s StandIn) error {
	objects, err := s.Components()
	if err != nil {
		return err
	}
	components, err := documents(objects)
	if err != nil {
		return err
	}
	series := strings.SplitN(strings.TrimPrefix(s.Version, "v"), ".", 3)
	return writeFiles(filepath.Join(c.dir, "ipam-"+s.Name, s.Version), map[string][]byte{
		componentsFile: components,
		"metadata.yaml": fmt.Appendf(nil, "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n"+
			"releaseSeries:\n- {major: %s, minor: %s, contract: v1beta2}\n", series[0], series[1]),
	})
}

// Shell runs commands as an administrator's shell does, in this folder, and returns what they print: one that fails ends nothing. It errs if the
// last one fails, and the error shows what all of them say. The programs are those of bin/.
func (c *Clusterctl) Shell(ctx context.Context, folder, commands string) (string, error) {
	script := fmt.Sprintf("clusterctl() { command clusterctl \"$@\" --config %q; }\n%s", filepath.Join(c.dir, "clusterctl.yaml"), commands)
	return Shell(ctx, folder, script, c.env()...)
}

func (c *Clusterctl) env() []string {
	return append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+c.dir)
}

// Run runs clusterctl with these arguments and returns what it printed. A failure's error carries it too.
func (c *Clusterctl) Run(ctx context.Context, args ...string) (string, error) {
	path, err := Binary("clusterctl")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, append(args, "--config", filepath.Join(c.dir, "clusterctl.yaml"))...)
	cmd.Env = c.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("clusterctl %v: %w:\n%s", args, err, out)
	}
	return string(out), nil
}

// Init installs Cluster API's core and a version of Weir, and waits until the API server serves Weir's kinds.
func (c *Clusterctl) Init(ctx context.Context, version string) (string, error) {
	return c.Run(ctx, "init", "--core", "cluster-api:"+coreVersion, "--bootstrap", "-", "--control-plane", "-",
		"--ipam", "weir:"+version)
}

// InstallKubeadmCRDs installs the CRDs of Cluster API's kubeadm providers, from the module that go.mod names.
func InstallKubeadmCRDs(ctx context.Context, cfg *rest.Config) error {
	dir, err := clusterAPIDir()
	if err != nil {
		return err
	}
	return InstallCRDs(ctx, cfg, filepath.Join(dir, "bootstrap", "kubeadm", "config", "crd", "bases"),
		filepath.Join(dir, "controlplane", "kubeadm", "config", "crd", "bases"))
}

// InstallCertManagerCRDs installs the two kinds of cert-manager that clusterctl looks for and Weir's manifests use. Nobody
// acts on them.
func InstallCertManagerCRDs(ctx context.Context, cfg *rest.Config) error {
	return installCRDs(ctx, cfg, []*unstructured.Unstructured{
		permissiveCRD("cert-manager.io", "v1", "Issuer", "issuers"), permissiveCRD("cert-manager.io", "v1", "Certificate", "certificates"),
	})
}

// AwaitCertManagerTestGone waits until the namespace is gone in which clusterctl tries cert-manager: the next init or
// upgrade hangs on it otherwise.
func AwaitCertManagerTestGone(ctx context.Context, cfg *rest.Config) error {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("building a client: %w", err)
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	return wait.PollUntilContextTimeout(ctx, pollInterval, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Name: "cert-manager-test"}, namespace)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
