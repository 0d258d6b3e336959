// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demand_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/demand"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/metal3/capm3"
)

// world is what an API server has; hidden kinds may not be read.
type world struct {
	objects []*unstructured.Unstructured
	hidden  string
}

func (w world) Object(_ context.Context, kind schema.GroupKind, _, name string) (*unstructured.Unstructured, survey.Presence, error) {
	if kind.Kind == w.hidden {
		return nil, survey.Hidden, nil
	}
	for _, object := range w.objects {
		if object.GroupVersionKind().GroupKind() == kind && object.GetName() == name {
			return object, survey.Present, nil
		}
	}
	return nil, survey.Gone, nil
}

func (w world) Objects(_ context.Context, kind schema.GroupKind, _ string) (all []*unstructured.Unstructured, isAllowed bool, err error) {
	for _, object := range w.objects {
		if object.GroupVersionKind().GroupKind() == kind {
			all = append(all, object)
		}
	}
	return all, kind.Kind != w.hidden, nil
}

func parse(t *testing.T, text string) (all []*unstructured.Unstructured) {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err, document)
		}
		if len(object) > 0 {
			all = append(all, &unstructured.Unstructured{Object: object})
		}
	}
	return all
}

const infrastructure = "infrastructure.cluster.x-k8s.io"

func machineTemplate(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: %s/v1beta1\nkind: %s\nmetadata: {name: %s}\nspec: {template: {spec: %s}}\n---\n", infrastructure, kind, name, spec)
}

func machineDeployment(spec, kind, template string) string {
	return fmt.Sprintf("apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\nmetadata:\n  name: md\n"+
		"  annotations: {cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: \"20\"}\n"+
		"spec:\n  clusterName: c\n%s  template: {spec: {infrastructureRef: {apiGroup: %s, kind: %s, name: %s}}}\n---\n",
		spec, infrastructure, kind, template)
}

const (
	cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: c}\n" +
		"spec: {controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: cp}}\n---\n"
	vsphere = `{network: {devices: [
		{networkName: a, addressesFromPools: [{apiGroup: ipam.weir.dev, kind: IPPool, name: nodes}, {apiGroup: ipam.weir.dev, kind: GlobalIPPool, name: fleet}]},
		{networkName: b, addressesFromPools: [{apiGroup: ipam.weir.dev, kind: IPPool, name: nodes}, {apiGroup: ipam.example.com, kind: IPPool, name: other}]}]}}`
	proxmox = `{network: {default: {ipv4PoolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: nodes}, ipv6PoolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: six}},
		additionalDevices: [{name: net1, ipv4PoolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: storage}}]}}`
	// capmox is as the Proxmox provider has it since its version 0.8: of pools of these two kinds only.
	capmox = `{network: {networkDevices: [
		{name: net0, bridge: vmbr0, ipPoolRef: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: nodes},
			{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: six}]},
		{name: net1, bridge: vmbr1, ipPoolRef: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: nodes},
			{apiGroup: ipam.cluster.x-k8s.io, kind: GlobalInClusterIPPool, name: shared}, {apiGroup: ipam.cluster.x-k8s.io, kind: NutanixIPPool, name: other}]}]}}`
	openstack = `{flavor: m, floatingIPPoolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: public}}`
	dataOf    = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: Metal3DataTemplate
metadata: {name: data}
spec:
  metaData:
    ipAddressesFromIPPool: [{key: ip, name: nodes}, {key: w, apiGroup: ipam.weir.dev, kind: IPPool, name: weir}]
    gatewaysFromIPPool: [{key: gw, name: nodes}]
  networkData:
    networks:
      ipv4:
      - {id: a, ipAddressFromIPPool: nodes, routes: [{network: 0.0.0.0, gateway: {fromIPPool: routed}, services: {dnsFromIPPool: names}}]}
      - {id: b, ipAddressFromIPPool: ignored, fromPoolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: weir}}
      - {id: c, fromPoolRef: {name: bare}}
      - {id: d, fromPoolAnnotation: {object: machine, annotation: pool}}
    services: {dnsFromIPPool: nodes}
---
`
	controlPlane = `apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp}
spec: {replicas: 3, machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachineTemplate, name: v}}}}
---
`
	class = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: quick}
spec:
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: x}
    machineInfrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereMachineTemplate, name: v}}
  workers:
    machineDeployments: [{class: w, infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereMachineTemplate, name: v}}}]
---
`
	topology = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c}
spec:
  topology:
    classRef: {name: quick}
    controlPlane: {replicas: 3}
    workers: {machineDeployments: [{class: w, name: md, replicas: 4, rollout: {strategy: {rollingUpdate: {maxSurge: 50%}}}}, {class: nope, name: lost}]}
---
`
)

func ipclaim(metadata, spec string) string {
	return "apiVersion: ipam.weir.dev/v1alpha1\nkind: IPClaim\nmetadata: " + metadata + "\nspec: " + spec + "\n---\n"
}

func TestWhatIsNeeded(t *testing.T) {
	t.Parallel()
	v := machineTemplate("VSphereMachineTemplate", "v", vsphere)
	set := func(spec string) string { return machineDeployment(spec, "VSphereMachineTemplate", "v") }
	for name, tc := range map[string]struct {
		live, files, hidden string
		question            demand.Question
		// needs are now, for good, at most.
		needs   string
		notSeen string
	}{
		"vSphere: each reference of each machine": {
			live: cluster + controlPlane + v + set("  replicas: 10\n  rollout: {strategy: {rollingUpdate: {maxSurge: 3}}}\n"),
			question: demand.Question{
				Cluster: "c", Replicas: map[string]int{"md": 12},
			},
			needs: "GlobalIPPool fleet 13 2 6, IPPool ns/nodes 26 4 12",
		},
		"to the autoscaler's maximum": {
			live: cluster + v + set("  replicas: 10\n"), question: demand.Question{Cluster: "c", ToMax: true},
			needs: "GlobalIPPool fleet 10 10 11, IPPool ns/nodes 20 20 22", notSeen: "KubeadmControlPlane cp, which does not exist",
		},
		"a percentage is rounded up": {
			live: v + set("  replicas: 5\n  strategy: {rollingUpdate: {maxSurge: 25%}}\n"), files: set("  replicas: 5\n  strategy: {rollingUpdate: {maxSurge: 25%}}\n"),
			needs: "GlobalIPPool fleet 5 0 2, IPPool ns/nodes 10 0 4",
		},
		"nothing more on delete": {
			live: v, files: set("  replicas: 5\n  rollout: {strategy: {type: OnDelete}}\n"),
			needs: "GlobalIPPool fleet 0 5 5, IPPool ns/nodes 0 10 10",
		},
		"fewer machines free addresses": {
			live: cluster + controlPlane + v, question: demand.Question{Cluster: "c", Replicas: map[string]int{"cp": 1}},
			needs: "GlobalIPPool fleet 3 -2 0, IPPool ns/nodes 6 -4 0",
		},
		"Proxmox, by manifests alone": {
			files: machineTemplate("ProxmoxMachineTemplate", "p", proxmox) + machineDeployment("  replicas: 2\n", "ProxmoxMachineTemplate", "p"),
			needs: "IPPool ns/nodes 0 2 3, IPPool ns/six 0 2 3, IPPool ns/storage 0 2 3",
		},
		"Proxmox, of the in-cluster provider's pools that Weir serves": {
			files: machineTemplate("ProxmoxMachineTemplate", "p", capmox) + machineDeployment("  replicas: 2\n", "ProxmoxMachineTemplate", "p") +
				"apiVersion: ipam.cluster.x-k8s.io/v1beta2\nkind: IPAddressClaim\nmetadata: {name: a}\n" +
				"spec: {poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: GlobalInClusterIPPool, name: shared}}\n",
			question: demand.Question{InCluster: true},
			needs:    "GlobalInClusterIPPool shared 0 3 4, InClusterIPPool ns/nodes 0 4 6, InClusterIPPool ns/six 0 2 3",
		},
		"Proxmox, of the pools that it makes itself as well": {
			files: machineTemplate("ProxmoxMachineTemplate", "p", strings.Replace(capmox, "bridge: vmbr0,", "bridge: vmbr0, defaultIPv4: true,", 1)) +
				machineDeployment("", "ProxmoxMachineTemplate", "p"),
			question: demand.Question{InCluster: true},
			needs:    "GlobalInClusterIPPool shared 0 1 2, InClusterIPPool ns/nodes 0 2 4, InClusterIPPool ns/six 0 1 2",
			notSeen:  "addresses of ProxmoxMachineTemplate p from the pools that its ProxmoxCluster makes",
		},
		"Proxmox, of the pools that it makes itself only, as its older versions have it": {
			files: machineTemplate("ProxmoxMachineTemplate", "p", "{network: {default: {bridge: vmbr0, model: virtio}}}") +
				machineDeployment("", "ProxmoxMachineTemplate", "p"),
			question: demand.Question{InCluster: true},
			notSeen:  "addresses of ProxmoxMachineTemplate p from the pools that its ProxmoxCluster makes",
		},
		"Proxmox, of the in-cluster provider's pools that it serves itself": {
			files: machineTemplate("ProxmoxMachineTemplate", "p", capmox) + machineDeployment("  replicas: 2\n", "ProxmoxMachineTemplate", "p"),
		},
		"OpenStack's floating IPs": {
			files: machineTemplate("OpenStackMachineTemplate", "o", openstack) + machineDeployment("", "OpenStackMachineTemplate", "o"),
			needs: "IPPool ns/public 0 1 2",
		},
		"Metal3: one of each pool": {
			live:  dataOf + machineTemplate("Metal3MachineTemplate", "m", "{dataTemplate: {name: data}}"),
			files: machineDeployment("  replicas: 2\n", "Metal3MachineTemplate", "m"),
			needs: "IPPool ns/weir 0 2 3, IPPool.ipam.metal3.io ns/bare 0 2 3, IPPool.ipam.metal3.io ns/names 0 2 3, " +
				"IPPool.ipam.metal3.io ns/nodes 0 2 3, IPPool.ipam.metal3.io ns/routed 0 2 3",
			notSeen: "fromPoolAnnotation of Metal3DataTemplate data",
		},
		"a manifest's template, before the one that is there": {
			live: v + set("  replicas: 2\n"), files: machineTemplate("VSphereMachineTemplate", "v", proxmox) + set("  replicas: 2\n"),
			needs: "GlobalIPPool fleet 2 -2 0, IPPool ns/nodes 4 -2 1, IPPool ns/six 0 2 3, IPPool ns/storage 0 2 3",
		},
		"a new topology": {
			live: class + v, files: topology,
			needs:   "GlobalIPPool fleet 0 7 10, IPPool ns/nodes 0 14 20",
			notSeen: "MachineDeployment lost, whose class does not exist; patches of ClusterClass quick (applied by the topology controller)",
		},
		"a claim": {
			files: "apiVersion: ipam.cluster.x-k8s.io/v1beta2\nkind: IPAddressClaim\nmetadata: {name: a}\n" +
				"spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: nodes}}\n",
			needs: "IPPool ns/nodes 0 1 1",
		},
		"prefixes, by their length": {
			live: ipclaim("{name: there}", "{poolRef: {kind: IPPool, name: nodes}, prefixLength: 26}"),
			files: ipclaim("{name: there}", "{poolRef: {kind: IPPool, name: nodes}, prefixLength: 26}") +
				ipclaim("{generateName: some-}", "{poolRef: {kind: IPPool, name: nodes}, prefixLength: 26}") +
				ipclaim("{generateName: some-}", "{poolRef: {kind: IPPool, name: nodes}, prefixLength: 26}") +
				ipclaim("{name: this}", "{poolRef: {kind: IPPool, name: nodes}, cidr: 10.0.0.64/27}") +
				ipclaim("{name: any}", "{poolRef: {kind: GlobalIPPool, name: fleet}}") +
				ipclaim("{name: chosen}", "{poolSelector: {kind: IPPool, matchLabels: {a: b}}}") +
				"apiVersion: ipam.weir.dev/v1alpha1\nkind: IPPool\nmetadata: {name: child}\nspec: {parentRef: {kind: IPPool, name: nodes}}\n",
			needs:   "GlobalIPPool fleet 0 1 1, IPPool ns/nodes 0 0 0 /26 1 2 2 /27 0 1 1",
			notSeen: "IPClaim chosen, whose pool is chosen by labels; IPPool child, whose block is carved from another pool",
		},
		"what is not shown": {
			live: cluster + controlPlane + v, hidden: "VSphereMachineTemplate", question: demand.Question{Cluster: "c"},
			notSeen: "VSphereMachineTemplate v",
		},
		"manifests of other namespaces": {
			files:   "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\nmetadata: {name: a, namespace: there}\nspec: {clusterName: c}\n",
			notSeen: "MachineDeployment there/a, of another namespace",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := tc.question
			q.Namespace, q.Manifests, q.Forms = "ns", parse(t, tc.files), []demand.Form{capm3.Form}
			answer, err := demand.Reckon(t.Context(), world{parse(t, tc.live), tc.hidden}, q)
			if err != nil {
				t.Fatal(err)
			}
			needs := make([]string, 0, len(answer.Needs))
			for _, n := range answer.Needs {
				text := fmt.Sprint(survey.Name(n.Pool), " ", n.Now, " ", n.ForGood, " ", n.AtMost)
				for _, length := range slices.Sorted(maps.Keys(n.Prefixes)) {
					amount := n.Prefixes[length]
					text += fmt.Sprint(" /", length, " ", amount.Now, " ", amount.ForGood, " ", amount.AtMost)
				}
				needs = append(needs, text)
			}
			if diff := cmp.Diff(tc.needs, strings.Join(needs, ", ")); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.notSeen, strings.Join(append(answer.NotLookedAt, answer.Unseen...), "; ")); diff != "" {
				t.Errorf("not looked at (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatIsRenewed: machines that are replaced ask for their addresses anew, and claims keep theirs.
func TestWhatIsRenewed(t *testing.T) {
	t.Parallel()
	v, other := machineTemplate("VSphereMachineTemplate", "v", vsphere), machineTemplate("VSphereMachineTemplate", "v", proxmox)
	set := machineDeployment("  replicas: 5\n  rollout: {strategy: {type: OnDelete}}\n", "VSphereMachineTemplate", "v")
	claim := ipclaim("{name: there}", "{poolRef: {kind: GlobalIPPool, name: fleet}}")
	for name, tc := range map[string]struct {
		live, files string
		replicas    map[string]int
		// renewed is of GlobalIPPool fleet.
		renewed int
		isLeft  bool
	}{
		"as many machines":     {live: v + set, files: set, renewed: 5},
		"fewer machines":       {live: v + set, files: set, replicas: map[string]int{"md": 2}, renewed: 2},
		"no machines":          {live: v + set, files: set, replicas: map[string]int{"md": 0}, isLeft: true},
		"machines that leave":  {live: v + set, files: other + set, isLeft: true},
		"a claim":              {live: claim, files: claim},
		"a claim and machines": {live: v + set + claim, files: set + claim, renewed: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := demand.Question{Namespace: "ns", Manifests: parse(t, tc.files), Replicas: tc.replicas}
			answer, err := demand.Reckon(t.Context(), world{objects: parse(t, tc.live)}, q)
			if err != nil || len(answer.Needs) == 0 || survey.Name(answer.Needs[0].Pool) != "GlobalIPPool fleet" {
				t.Fatalf("%v, %+v", err, answer)
			}
			if need := answer.Needs[0]; need.Renewed != tc.renewed || need.IsLeft() != tc.isLeft {
				t.Errorf("renewed %d, is left %v", need.Renewed, need.IsLeft())
			}
		})
	}
}

// Three machines of a control plane and two workers: at most one more of each.
func TestWhatTheTemplatesNeed(t *testing.T) {
	t.Parallel()
	variables := map[string]string{
		"CLUSTER_NAME": "c", "NAMESPACE": "ns", "CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2", "KUBERNETES_VERSION": "v1.36.0",
	}
	for flavor, want := range map[string]string{
		"vsphere":   "IPPool ns/c-nodes 5 7",
		"metal3":    "IPPool.ipam.metal3.io ns/c-nodes 5 7",
		"proxmox":   "addresses of ProxmoxMachineTemplate c from the pools that its ProxmoxCluster makes",
		"openstack": "IPPool ns/c-floating 2 3",
	} {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "..", "templates", "cluster-template-"+flavor+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			manifests := parse(t, os.Expand(string(text), func(name string) string {
				if value, isSet := variables[name]; isSet {
					return value
				}
				return "1"
			}))
			q := demand.Question{Namespace: "ns", Manifests: manifests, InCluster: true, Forms: []demand.Form{capm3.Form}}
			answer, err := demand.Reckon(t.Context(), world{}, q)
			if err != nil {
				t.Fatal(err)
			}
			got := answer.NotLookedAt
			for _, n := range answer.Needs {
				got = append(got, fmt.Sprint(survey.Name(n.Pool), " ", n.ForGood, " ", n.AtMost))
			}
			if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuestionsThatCannotBeAnswered(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]demand.Question{
		"there is no Cluster ns/d":            {Cluster: "d"},
		"there is no set of machines nope":    {Cluster: "c", Replicas: map[string]int{"nope": 1}},
		"there is no set of machines other; ": {Cluster: "c", Replicas: map[string]int{"other": 1, "cp": 1}},
	} {
		q.Namespace = "ns"
		_, err := demand.Reckon(t.Context(), world{objects: parse(t, cluster+controlPlane)}, q)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", want, err)
		}
	}
}
