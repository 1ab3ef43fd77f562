// What Python.h offers as macros and inline functions, for users of CPY3.
#ifndef CPY3_MACROS_H
#define CPY3_MACROS_H

#define Py_TYPE(o) (*(PyTypeObject **)((char *)(o) + CPY3->type_at))
#define Py_IS_TYPE(o, t) (Py_TYPE(o) == (t))
#define Py_INCREF(o) Py_IncRef((PyObject *)(o))
#define Py_DECREF(o) Py_DecRef((PyObject *)(o))
#define Py_XDECREF(o) Py_DecRef((PyObject *)(o))
#define Py_CLEAR(o) \
  do { \
    PyObject *cpy3_old = (PyObject *)(o); \
    (o) = NULL; \
    Py_DecRef(cpy3_old); \
  } while (0)

#define Py_RETURN_NONE return Py_NewRef(Py_None)
#define Py_RETURN_TRUE return Py_NewRef(Py_True)
#define Py_RETURN_FALSE return Py_NewRef(Py_False)

#define PyRun_SimpleString(s) PyRun_SimpleStringFlags((s), NULL)
#define PyVectorcall_NARGS(n) ((Py_ssize_t)((n) & ~PY_VECTORCALL_ARGUMENTS_OFFSET))

#define PyType_HasFeature(t, flag) ((PyType_GetFlags(t) & (flag)) != 0)
#define PyObject_TypeCheck(o, t) (Py_TYPE(o) == (t) || PyType_IsSubtype(Py_TYPE(o), (t)))

#define PyLong_Check(o) PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_LONG_SUBCLASS)
#define PyList_Check(o) PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_LIST_SUBCLASS)
#define PyTuple_Check(o) PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_TUPLE_SUBCLASS)
#define PyUnicode_Check(o) PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_UNICODE_SUBCLASS)
#define PyDict_Check(o) PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_DICT_SUBCLASS)
#define PyExceptionInstance_Check(o) PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_BASE_EXC_SUBCLASS)
#define PyType_Check(o) PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_TYPE_SUBCLASS)
#define PyFloat_Check(o) PyObject_TypeCheck((o), &PyFloat_Type)

#define PyList_CheckExact(o) Py_IS_TYPE((o), &PyList_Type)
#define PyTuple_CheckExact(o) Py_IS_TYPE((o), &PyTuple_Type)
#define PyUnicode_CheckExact(o) Py_IS_TYPE((o), &PyUnicode_Type)

static inline PyObject *Py_NewRef(PyObject *o) {
  Py_IncRef(o);
  return o;
}

// cpy3_body is what follows an object's head: the memory of a type that is made with basicsize CPY3->head_size and more.
static inline void *cpy3_body(PyObject *o) { return (char *)o + CPY3->head_size; }

// PyUnstable_Object_IsUniquelyReferenced tells whether only the caller has a reference. CPython has it since 3.14; before, its
// count is read. A build that counts otherwise shows another number, and the answer is no.
static inline bool PyUnstable_Object_IsUniquelyReferenced(PyObject *o) {
  if (CPY3->free_threaded) return CPY3->PyUnstable_Object_IsUniquelyReferenced(o) != 0;
  return ((struct cpy3_head *)(void *)o)->references == 1;
}

// PyDict_GetItemRef sets *item to an own reference, or to NULL: 1; 0: there is no such item; -1 with an exception. CPython has it
// since 3.13.
static inline int PyDict_GetItemRef(PyObject *dict, PyObject *key, PyObject **item) {
  if (CPY3->PyDict_GetItemRef) return CPY3->PyDict_GetItemRef(dict, key, item);
  *item = PyDict_GetItemWithError(dict, key);
  Py_IncRef(*item);
  return *item ? 1 : PyErr_Occurred() ? -1 : 0;
}

// PyList_GetItemRef is PyList_GetItem with an own reference. CPython has it since 3.13.
static inline PyObject *PyList_GetItemRef(PyObject *list, Py_ssize_t i) {
  if (CPY3->PyList_GetItemRef) return CPY3->PyList_GetItemRef(list, i);
  PyObject *item = PyList_GetItem(list, i);
  Py_IncRef(item);
  return item;
}

// PyModule_Create makes a module that needs no GIL. Its definition gets the head of an immortal object that the library expects.
static inline PyObject *PyModule_Create(PyModuleDef *definition) {
  PyModuleDef_Base *base = &definition->m_base;
  char *start = (char *)&base->room + sizeof base->room - CPY3->head_size;
  if (CPY3->free_threaded)
    base->room = (struct cpy3_free_threaded_head){.flags = 4, .local_references = UINT32_MAX};  // statically allocated
  else
    *(struct cpy3_head *)(void *)start = (struct cpy3_head){1, NULL};
  PyObject *module = PyModule_Create2((PyModuleDef *)(void *)start, PYTHON_API_VERSION);
  if (!module || !CPY3->PyUnstable_Module_SetGIL || CPY3->PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED) == 0)
    return module;
  Py_DecRef(module);
  return NULL;
}

static inline PyObject *Py_XNewRef(PyObject *o) {
  Py_IncRef(o);
  return o;
}

// CPython 3.10 has PyObject_Vectorcall only as an inline function of Python.h;
// there the keywords go through a dictionary.
static inline PyObject *PyObject_Vectorcall(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  if (CPY3->PyObject_Vectorcall) return CPY3->PyObject_Vectorcall(f, args, nargsf, kwnames);
  if (!kwnames) return PyObject_VectorcallDict(f, args, nargsf, NULL);

  PyObject *result = NULL;
  PyObject *kwargs = PyDict_New();
  if (!kwargs) goto done;
  Py_ssize_t n = PyTuple_Size(kwnames);
  PyObject *const *values = args + PyVectorcall_NARGS(nargsf);
  for (Py_ssize_t i = 0; i < n; i++)
    if (PyDict_SetItem(kwargs, PyTuple_GetItem(kwnames, i), values[i]) < 0) goto done;
  result = PyObject_VectorcallDict(f, args, nargsf, kwargs);
done:
  Py_DecRef(kwargs);
  return result;
}

static inline PyObject *PyObject_CallOneArg(PyObject *f, PyObject *arg) {
  return PyObject_VectorcallDict(f, &arg, 1, NULL);
}

#endif
