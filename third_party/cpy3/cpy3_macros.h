// What Python.h offers as macros and inline functions, for users of CPY3.
#ifndef CPY3_MACROS_H
#define CPY3_MACROS_H

#define Py_TYPE(o) (((PyObject *)(o))->ob_type)
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

#define PyModule_Create(def) PyModule_Create2((def), PYTHON_API_VERSION)
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
