// Which functions and objects of CPython the table holds. Each list is an X
// macro; X(return type, name, (parameters)). cpy3_names.h is made from this
// file (go generate), so keep one entry a line.
#ifndef CPY3_FUNCS_H
#define CPY3_FUNCS_H

// Functions that each CPython from 3.10 on exports; one missing refuses the library.
#define CPY3_FUNCS(X) \
  X(const char *, Py_GetVersion, (void)) \
  X(int, Py_BytesMain, (int, char **)) \
  X(void, Py_InitializeEx, (int)) \
  X(int, PyRun_SimpleStringFlags, (const char *, void *)) \
  X(PyThreadState *, PyEval_SaveThread, (void)) \
  X(void, PyEval_RestoreThread, (PyThreadState *)) \
  X(int, PyThreadState_SetAsyncExc, (unsigned long, PyObject *)) \
  X(PyGILState_STATE, PyGILState_Ensure, (void)) \
  X(void, PyGILState_Release, (PyGILState_STATE)) \
  X(int, PyGILState_Check, (void)) \
  X(PyThreadState *, PyGILState_GetThisThreadState, (void)) \
  X(void, PyOS_BeforeFork, (void)) \
  X(void, PyOS_AfterFork_Parent, (void)) \
  X(void, PyOS_AfterFork_Child, (void)) \
  X(char *, PyOS_double_to_string, (double, char, int, int, int *)) \
  X(double, PyOS_string_to_double, (const char *, char **, PyObject *)) \
  X(PyObject *, PySys_GetObject, (const char *)) \
  X(int, PyImport_AppendInittab, (const char *, PyObject *(*)(void))) \
  X(PyObject *, PyImport_ImportModule, (const char *)) \
  X(PyObject *, PyImport_AddModule, (const char *)) \
  X(PyObject *, PyImport_GetModuleDict, (void)) \
  X(PyObject *, PyModule_Create2, (PyModuleDef *, int)) \
  X(PyObject *, PyModule_GetDict, (PyObject *)) \
  X(int, PyModule_AddFunctions, (PyObject *, PyMethodDef *)) \
  X(PyObject *, PyErr_Occurred, (void)) \
  X(void, PyErr_Fetch, (PyObject **, PyObject **, PyObject **)) \
  X(void, PyErr_Restore, (PyObject *, PyObject *, PyObject *)) \
  X(void, PyErr_NormalizeException, (PyObject **, PyObject **, PyObject **)) \
  X(void, PyErr_Clear, (void)) \
  X(void, PyErr_SetString, (PyObject *, const char *)) \
  X(void, PyErr_SetObject, (PyObject *, PyObject *)) \
  X(PyObject *, PyErr_Format, (PyObject *, const char *, ...)) \
  X(PyObject *, PyErr_NoMemory, (void)) \
  X(PyObject *, PyErr_SetFromErrno, (PyObject *)) \
  X(int, PyErr_ExceptionMatches, (PyObject *)) \
  X(int, PyErr_GivenExceptionMatches, (PyObject *, PyObject *)) \
  X(int, PyErr_CheckSignals, (void)) \
  X(void, PyErr_WriteUnraisable, (PyObject *)) \
  X(void, PyErr_Print, (void)) \
  X(int, PyException_SetTraceback, (PyObject *, PyObject *)) \
  X(void, Py_IncRef, (PyObject *)) \
  X(void, Py_DecRef, (PyObject *)) \
  X(PyObject *, PyObject_Call, (PyObject *, PyObject *, PyObject *)) \
  X(PyObject *, PyObject_CallFunctionObjArgs, (PyObject *, ...)) \
  X(PyObject *, PyObject_VectorcallDict, (PyObject *, PyObject *const *, size_t, PyObject *)) \
  X(PyObject *, PyObject_VectorcallMethod, (PyObject *, PyObject *const *, size_t, PyObject *)) \
  X(PyObject *, PyObject_GetAttr, (PyObject *, PyObject *)) \
  X(PyObject *, PyObject_GetAttrString, (PyObject *, const char *)) \
  X(int, PyObject_SetAttr, (PyObject *, PyObject *, PyObject *)) \
  X(int, PyObject_SetAttrString, (PyObject *, const char *, PyObject *)) \
  X(int, PyObject_HasAttrString, (PyObject *, const char *)) \
  X(PyObject *, PyObject_Str, (PyObject *)) \
  X(PyObject *, PyObject_GetIter, (PyObject *)) \
  X(int, PyObject_RichCompareBool, (PyObject *, PyObject *, int)) \
  X(int, PyBuffer_FillInfo, (Py_buffer *, PyObject *, void *, Py_ssize_t, int, int)) \
  X(PyObject *, PyIter_Next, (PyObject *)) \
  X(unsigned long, PyType_GetFlags, (PyTypeObject *)) \
  X(int, PyType_IsSubtype, (PyTypeObject *, PyTypeObject *)) \
  X(void, PyType_Modified, (PyTypeObject *)) \
  X(PyObject *, PyDescr_NewMethod, (PyTypeObject *, PyMethodDef *)) \
  X(PyObject *, PyType_FromSpec, (PyType_Spec *)) \
  X(void *, PyType_GetSlot, (PyTypeObject *, int)) \
  X(PyObject *, PyType_GenericAlloc, (PyTypeObject *, Py_ssize_t)) \
  X(PyObject *, PyCFunction_NewEx, (PyMethodDef *, PyObject *, PyObject *)) \
  X(PyObject *, PySequence_List, (PyObject *)) \
  X(PyObject *, PyMapping_Items, (PyObject *)) \
  X(PyObject *, PyDict_New, (void)) \
  X(PyObject *, PyDict_Copy, (PyObject *)) \
  X(Py_ssize_t, PyDict_Size, (PyObject *)) \
  X(int, PyDict_Next, (PyObject *, Py_ssize_t *, PyObject **, PyObject **)) \
  X(int, PyDict_Contains, (PyObject *, PyObject *)) \
  X(PyObject *, PyDict_GetItemWithError, (PyObject *, PyObject *)) \
  X(int, PyDict_SetItem, (PyObject *, PyObject *, PyObject *)) \
  X(int, PyDict_Update, (PyObject *, PyObject *)) \
  X(PyObject *, PyDict_Items, (PyObject *)) \
  X(PyObject *, PyList_New, (Py_ssize_t)) \
  X(Py_ssize_t, PyList_Size, (PyObject *)) \
  X(PyObject *, PyList_GetItem, (PyObject *, Py_ssize_t)) \
  X(int, PyList_SetItem, (PyObject *, Py_ssize_t, PyObject *)) \
  X(int, PyList_Append, (PyObject *, PyObject *)) \
  X(PyObject *, PyList_GetSlice, (PyObject *, Py_ssize_t, Py_ssize_t)) \
  X(int, PyList_SetSlice, (PyObject *, Py_ssize_t, Py_ssize_t, PyObject *)) \
  X(PyObject *, PyTuple_New, (Py_ssize_t)) \
  X(Py_ssize_t, PyTuple_Size, (PyObject *)) \
  X(PyObject *, PyTuple_GetItem, (PyObject *, Py_ssize_t)) \
  X(int, PyTuple_SetItem, (PyObject *, Py_ssize_t, PyObject *)) \
  X(PyObject *, PyTuple_Pack, (Py_ssize_t, ...)) \
  X(PyObject *, PyUnicode_FromString, (const char *)) \
  X(PyObject *, PyUnicode_FromStringAndSize, (const char *, Py_ssize_t)) \
  X(PyObject *, PyUnicode_FromFormat, (const char *, ...)) \
  X(PyObject *, PyUnicode_InternFromString, (const char *)) \
  X(PyObject *, PyUnicode_DecodeUTF8, (const char *, Py_ssize_t, const char *)) \
  X(const char *, PyUnicode_AsUTF8AndSize, (PyObject *, Py_ssize_t *)) \
  X(Py_ssize_t, PyUnicode_GetLength, (PyObject *)) \
  X(Py_UCS4, PyUnicode_ReadChar, (PyObject *, Py_ssize_t)) \
  X(int, PyUnicode_Compare, (PyObject *, PyObject *)) \
  X(int, PyUnicode_CompareWithASCIIString, (PyObject *, const char *)) \
  X(PyObject *, PyBytes_FromString, (const char *)) \
  X(PyObject *, PyBytes_FromStringAndSize, (const char *, Py_ssize_t)) \
  X(int, PyBytes_AsStringAndSize, (PyObject *, char **, Py_ssize_t *)) \
  X(PyObject *, PyByteArray_FromStringAndSize, (const char *, Py_ssize_t)) \
  X(int, PyByteArray_Resize, (PyObject *, Py_ssize_t)) \
  X(char *, PyByteArray_AsString, (PyObject *)) \
  X(PyObject *, PyBool_FromLong, (long)) \
  X(PyObject *, PyLong_FromLong, (long)) \
  X(PyObject *, PyLong_FromLongLong, (long long)) \
  X(PyObject *, PyLong_FromUnsignedLongLong, (unsigned long long)) \
  X(PyObject *, PyLong_FromSsize_t, (Py_ssize_t)) \
  X(PyObject *, PyLong_FromString, (const char *, char **, int)) \
  X(long, PyLong_AsLong, (PyObject *)) \
  X(long long, PyLong_AsLongLongAndOverflow, (PyObject *, int *)) \
  X(unsigned long, PyLong_AsUnsignedLong, (PyObject *)) \
  X(unsigned long long, PyLong_AsUnsignedLongLong, (PyObject *)) \
  X(Py_ssize_t, PyLong_AsSsize_t, (PyObject *)) \
  X(PyObject *, PyFloat_FromDouble, (double)) \
  X(double, PyFloat_AsDouble, (PyObject *)) \
  X(PyObject *, PyNumber_Index, (PyObject *)) \
  X(PyObject *, PyNumber_ToBase, (PyObject *, int)) \
  X(void, PyMem_Free, (void *)) \
  X(int, PyContextVar_Get, (PyObject *, PyObject *, PyObject **)) \
  X(PyObject *, PyContextVar_Set, (PyObject *, PyObject *)) \
  X(PyObject *, PyContext_CopyCurrent, (void)) \
  X(int, PyContext_Enter, (PyObject *)) \
  X(int, PyContext_Exit, (PyObject *))

// Functions with a "#" format: before 3.13 the plain symbol takes an int where
// it is told of a length and refuses such formats, and _NAME_SizeT is the one
// that Python.h calls. The slot holds the latter wherever there is one.
#define CPY3_FUNCS_SIZE_T(X) \
  X(int, PyArg_ParseTuple, (PyObject *, const char *, ...)) \
  X(PyObject *, Py_BuildValue, (const char *, ...)) \
  X(PyObject *, PyObject_CallMethod, (PyObject *, const char *, const char *, ...))

// Functions of some builds only; cpy3_macros.h has what the others use.
#define CPY3_FUNCS_OPTIONAL(X) \
  X(PyObject *, PyObject_Vectorcall, (PyObject *, PyObject *const *, size_t, PyObject *)) \
  X(int, PyDict_GetItemRef, (PyObject *, PyObject *, PyObject **)) \
  X(PyObject *, PyList_GetItemRef, (PyObject *, Py_ssize_t)) \
  X(int, PyUnstable_Object_IsUniquelyReferenced, (PyObject *)) \
  X(int, PyUnstable_Module_SetGIL, (PyObject *, void *))

#define CPY3_TYPES(X) \
  X(PyUnicode_Type) \
  X(PyLong_Type) \
  X(PyFloat_Type) \
  X(PyList_Type) \
  X(PyTuple_Type) \
  X(PyDict_Type)

#define CPY3_CONSTANTS(X) \
  X(Py_None, _Py_NoneStruct) \
  X(Py_True, _Py_TrueStruct) \
  X(Py_False, _Py_FalseStruct) \
  X(Py_NotImplemented, _Py_NotImplementedStruct)

#define CPY3_EXCEPTIONS(X) \
  X(PyExc_Exception) \
  X(PyExc_AttributeError) \
  X(PyExc_IndexError) \
  X(PyExc_OSError) \
  X(PyExc_RuntimeError) \
  X(PyExc_StopIteration) \
  X(PyExc_SystemError) \
  X(PyExc_SystemExit) \
  X(PyExc_TypeError) \
  X(PyExc_UnicodeDecodeError) \
  X(PyExc_UnicodeEncodeError) \
  X(PyExc_ValueError)

#endif
