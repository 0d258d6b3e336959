// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory is an API server in memory whose revisions grow with every write, as a real one's do, and a ledger that follows it. It
// is for unit tests that call a reconciler once. It notes all requests, can have one of them fail, and fails the test for a write that
// is not conditional.
package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restfake "k8s.io/client-go/rest/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// ErrFailed is what a request errs with that is to fail.
var ErrFailed = errors.New("the API server does not answer")

// Site is the API server, as a client of it that reads live, and its ledger.
type Site struct {
	client.WithWatch

	Ledger *ledger.Ledger
	// Before is called before each request, which it does not name by number: what it writes itself goes to Raw. It is set before the first.
	Before func(request string)
	// Raw notes nothing and fails nothing.
	Raw client.Client

	tb       testing.TB
	indexes  []Index
	mu       sync.Mutex
	requests []string
	failAt   int
	putBack  string
}

// Options of a Site.
type Options struct {
	Scheme *runtime.Scheme
	Clock  clock.PassiveClock
	// Objects are stored at first. Those without a version get one each, in their order.
	Objects []client.Object
	// Indexes are fields that lists may select by.
	Indexes []Index
}

// Index is a field that lists of a kind may select by.
type Index struct {
	Of    client.Object
	Field string
	Value client.IndexerFunc
}

// New returns a site, whose ledger knows all records.
func New(tb testing.TB, options Options) *Site {
	tb.Helper()
	s := options.Scheme
	stored := &tracker{ObjectTracker: clienttesting.NewObjectTracker(s, serializer.NewCodecFactory(s).UniversalDecoder()), last: 100}
	b := fake.NewClientBuilder().WithScheme(s).WithObjectTracker(stored).WithReturnManagedFields().WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(s))
	for _, index := range options.Indexes {
		b = b.WithIndex(index.Of, index.Field, index.Value)
	}
	for _, o := range options.Objects {
		o, _ = o.DeepCopyObject().(client.Object)
		if o.GetResourceVersion() == "" {
			o.SetResourceVersion(stored.next())
		}
		if o.GetUID() == "" {
			o.SetUID(types.UID("uid " + o.GetResourceVersion()))
		}
		b = b.WithObjects(o).WithStatusSubresource(o)
	}
	raw := b.Build()
	site := &Site{tb: tb, indexes: options.Indexes, Raw: raw}
	site.WithWatch = interceptor.NewClient(raw, site.noted())
	watched := make(chan struct{})
	var once sync.Once
	follows := interceptor.NewClient(site.WithWatch, interceptor.Funcs{
		Watch: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, o ...client.ListOption) (watch.Interface, error) {
			defer once.Do(func() { close(watched) })
			return raw.Watch(ctx, list, o...)
		},
	})
	site.Ledger = ledger.New(ledger.Options{Client: follows, REST: listsOf(raw, stored), Instance: "m", Clock: options.Clock})
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- site.Ledger.Start(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			tb.Errorf("the ledger: %v", err)
		}
	})
	if err := site.Ledger.WaitForSync(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	select {
	case <-watched:
	case <-tb.Context().Done():
	}
	return site
}

// listsOf returns what lists the records.
func listsOf(c client.Client, stored *tracker) *restfake.RESTClient {
	return &restfake.RESTClient{
		GroupVersion: ipamv1.GroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		Client: restfake.CreateHTTPClient(func(r *http.Request) (*http.Response, error) {
			list := &ipamv1.IPAllocationList{}
			if err := c.List(r.Context(), list); err != nil {
				return nil, err
			}
			list.ResourceVersion = stored.next()
			body, err := json.Marshal(list)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}, err
		}),
	}
}

// Requests returns those since the last call.
func (s *Site) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// FailAt has the request of this number fail, of those that are still to come; 0 for none.
func (s *Site) FailAt(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.failAt = nil, number
}

// Until tries again until it is done: the ledger shows a write only when the watch has shown it.
func (s *Site) Until(isDone func() bool) {
	s.tb.Helper()
	err := wait.PollUntilContextTimeout(s.tb.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return isDone(), nil })
	if err != nil {
		s.tb.Errorf("it does not come to an end: %v", err)
	}
}

// PutsBack has the API server put a finalizer back that a patch takes off, as a webhook may.
func (s *Site) PutsBack(finalizer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putBack = finalizer
}

// patched is what the reply to a patch shows.
func (s *Site) patched(ctx context.Context, obj client.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.putBack == "" || slices.Contains(obj.GetFinalizers(), s.putBack) {
		return nil
	}
	obj.SetFinalizers(append(obj.GetFinalizers(), s.putBack))
	return s.Raw.Update(ctx, obj)
}

// Behind returns a client whose cache has these objects and no others. What it writes, and reads unstructured, it writes and reads here.
func (s *Site) Behind(cached ...client.Object) client.Client {
	b := fake.NewClientBuilder().WithScheme(s.Scheme()).WithReturnManagedFields()
	for _, index := range s.indexes {
		b = b.WithIndex(index.Of, index.Field, index.Value)
	}
	for _, o := range cached {
		o, _ = o.DeepCopyObject().(client.Object)
		o.SetManagedFields(nil)
		b = b.WithObjects(o)
	}
	cache := b.Build()
	return interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
			if _, isLive := obj.(*unstructured.Unstructured); isLive {
				return c.Get(ctx, key, obj, o...)
			}
			return cache.Get(ctx, key, obj, o...)
		},
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			return cache.List(ctx, list, o...)
		},
	})
}

// note notes a request, and errs if it is to fail.
func (s *Site) note(verb string, obj runtime.Object) error {
	kind, err := s.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	request := verb + " " + kind.Kind
	if s.Before != nil {
		s.Before(request)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request)
	if len(s.requests) == s.failAt {
		return ErrFailed
	}
	return nil
}

// checkUID errs as the API server does if a write names another UID than that of the object which has the name; the fake client looks at
// versions alone.
func (s *Site) checkUID(ctx context.Context, obj client.Object, uid types.UID) error {
	stored, _ := obj.DeepCopyObject().(client.Object)
	if err := s.Raw.Get(ctx, client.ObjectKeyFromObject(obj), stored); err != nil || uid == "" || stored.GetUID() == uid {
		return client.IgnoreNotFound(err)
	}
	return apierrors.NewConflict(schema.GroupResource{}, obj.GetName(), errors.New("it has another UID"))
}

func (s *Site) noted() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
			return unless(s.note("get", obj), func() error { return c.Get(ctx, key, obj, o...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			return unless(s.note("list", list), func() error { return c.List(ctx, list, o...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			return unless(s.note("create", obj), func() error { return c.Create(ctx, obj, o...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.UpdateOption) error {
			return unless(s.note("update", obj), func() error {
				return unless(s.checkUID(ctx, obj, obj.GetUID()), func() error { return c.Update(ctx, obj, o...) })
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			uid := s.checkDelete(obj, o)
			return unless(s.note("delete", obj), func() error {
				return unless(s.checkUID(ctx, obj, uid), func() error { return c.Delete(ctx, obj, o...) })
			})
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			uid := s.checkPatch(obj, p)
			return unless(s.note("patch", obj), func() error {
				return unless(s.checkUID(ctx, obj, uid), func() error {
					return unless(c.Patch(ctx, obj, p, o...), func() error { return s.patched(ctx, obj) })
				})
			})
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			s.checkPatch(obj, p)
			return unless(s.note("patch "+sub+" of", obj), func() error { return c.SubResource(sub).Patch(ctx, obj, p, o...) })
		},
	}
}

// unless does something unless there is an error.
func unless(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

// checkDelete fails the test for a deletion of whatever has the name, and returns the UID that is named.
func (s *Site) checkDelete(obj client.Object, o []client.DeleteOption) types.UID {
	p := (&client.DeleteOptions{}).ApplyOptions(o).Preconditions
	if p == nil || p.UID == nil || *p.UID == "" || p.ResourceVersion == nil || *p.ResourceVersion == "" {
		s.tb.Errorf("%T %s is deleted whatever its UID and version", obj, obj.GetName())
		return ""
	}
	return *p.UID
}

// checkPatch fails the test for a patch of whatever version, and returns the UID that is named. A patch that only touches a record may be
// of any version.
func (s *Site) checkPatch(obj client.Object, p client.Patch) types.UID {
	var patch struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			Annotations     map[string]*string
			Finalizers      *[]string
		}
	}
	body, err := p.Data(obj)
	if err == nil {
		err = json.Unmarshal(body, &patch)
	}
	if err != nil {
		s.tb.Errorf("a patch of %T: %v", obj, err)
		return ""
	}
	_, isRecord := obj.(*ipamv1.IPAllocation)
	isTouch := isRecord && patch.Metadata.Annotations[records.TouchedAnnotation] != nil && patch.Metadata.Finalizers == nil && !bytes.Contains(body, []byte(`"state"`))
	if patch.Metadata.ResourceVersion == "" && !isTouch || isRecord && patch.Metadata.UID == "" {
		s.tb.Errorf("%T %s is changed whatever its version: %s", obj, obj.GetName(), body)
	}
	return patch.Metadata.UID
}

// tracker stores objects, and counts all writes in their versions, since the ledger compares them. The fake client counts those of each
// object alone.
type tracker struct {
	clienttesting.ObjectTracker

	mu   sync.Mutex
	last int
}

func (t *tracker) next() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	return strconv.Itoa(t.last)
}

func (t *tracker) stamp(obj runtime.Object) error {
	o, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	o.SetResourceVersion(t.next())
	if o.GetUID() == "" {
		o.SetUID(types.UID("uid " + o.GetResourceVersion()))
	}
	return nil
}

// Create implements clienttesting.ObjectTracker.
func (t *tracker) Create(gvr schema.GroupVersionResource, obj runtime.Object, ns string, o ...metav1.CreateOptions) error {
	return errors.Join(t.stamp(obj), t.ObjectTracker.Create(gvr, obj, ns, o...))
}

// Update implements clienttesting.ObjectTracker.
func (t *tracker) Update(gvr schema.GroupVersionResource, obj runtime.Object, ns string, o ...metav1.UpdateOptions) error {
	return errors.Join(t.stamp(obj), t.ObjectTracker.Update(gvr, obj, ns, o...))
}

// Patch implements clienttesting.ObjectTracker.
func (t *tracker) Patch(gvr schema.GroupVersionResource, obj runtime.Object, ns string, o ...metav1.PatchOptions) error {
	return errors.Join(t.stamp(obj), t.ObjectTracker.Patch(gvr, obj, ns, o...))
}

// Delete implements clienttesting.ObjectTracker. The watch shows the object at a version of its own.
func (t *tracker) Delete(gvr schema.GroupVersionResource, ns, name string, o ...metav1.DeleteOptions) error {
	obj, err := t.Get(gvr, ns, name)
	if err != nil {
		return err
	}
	return errors.Join(t.Update(gvr, obj, ns), t.ObjectTracker.Delete(gvr, ns, name, o...))
}

// Writes are those of the requests that change something.
func Writes(requests []string) []string {
	return slices.DeleteFunc(slices.Clone(requests), func(r string) bool { return r[:3] == "get" || r[:4] == "list" })
}
