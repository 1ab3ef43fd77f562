// Which functions and objects of CPython the table holds. Each list is an X
// macro; X(return type, name, (parameters)). cpy3_names.h is made from this
// file (go generate), so keep one entry a line.
#ifndef CPY3_FUNCS_H
#define CPY3_FUNCS_H

// Functions that each CPython from 3.10 on exports; one missing refuses the library.
#define CPY3_FUNCS(X) \
  X(const char *, Py_GetVersion, (void)) \
  X(int, Py_BytesMain, (int, char **)) \
  X(int, Py_IsInitialized, (void)) \
  X(void, Py_InitializeEx, (int)) \
  X(int, Py_FinalizeEx, (void)) \
  X(int, Py_AtExit, (void (*)(void))) \
  X(int, Py_MakePendingCalls, (void)) \
  X(int, Py_AddPendingCall, (int (*)(void *), void *)) \
  X(int, Py_EnterRecursiveCall, (const char *)) \
  X(void, Py_LeaveRecursiveCall, (void)) \
  X(int, PyRun_SimpleStringFlags, (const char *, void *)) \
  X(PyObject *, PyRun_StringFlags, (const char *, int, PyObject *, PyObject *, void *)) \
  X(PyObject *, Py_CompileString, (const char *, const char *, int)) \
  X(PyObject *, PyEval_EvalCode, (PyObject *, PyObject *, PyObject *)) \
  X(PyObject *, PyEval_GetBuiltins, (void)) \
  X(PyThreadState *, PyEval_SaveThread, (void)) \
  X(void, PyEval_RestoreThread, (PyThreadState *)) \
  X(PyThreadState *, PyThreadState_Get, (void)) \
  X(PyObject *, PyThreadState_GetDict, (void)) \
  X(PyFrameObject *, PyThreadState_GetFrame, (PyThreadState *)) \
  X(int, PyThreadState_SetAsyncExc, (unsigned long, PyObject *)) \
  X(PyInterpreterState *, PyInterpreterState_Get, (void)) \
  X(int64_t, PyInterpreterState_GetID, (PyInterpreterState *)) \
  X(PyGILState_STATE, PyGILState_Ensure, (void)) \
  X(void, PyGILState_Release, (PyGILState_STATE)) \
  X(int, PyGILState_Check, (void)) \
  X(PyThreadState *, PyGILState_GetThisThreadState, (void)) \
  X(void, PyOS_BeforeFork, (void)) \
  X(void, PyOS_AfterFork_Parent, (void)) \
  X(void, PyOS_AfterFork_Child, (void)) \
  X(PyOS_sighandler_t, PyOS_getsig, (int)) \
  X(PyOS_sighandler_t, PyOS_setsig, (int, PyOS_sighandler_t)) \
  X(PyObject *, PyOS_FSPath, (PyObject *)) \
  X(char *, PyOS_double_to_string, (double, char, int, int, int *)) \
  X(double, PyOS_string_to_double, (const char *, char **, PyObject *)) \
  X(PyObject *, PySys_GetObject, (const char *)) \
  X(int, PySys_SetObject, (const char *, PyObject *)) \
  X(void, PySys_WriteStderr, (const char *, ...)) \
  X(int, PySys_Audit, (const char *, const char *, ...)) \
  X(int, PyImport_AppendInittab, (const char *, PyObject *(*)(void))) \
  X(PyObject *, PyImport_ImportModule, (const char *)) \
  X(PyObject *, PyImport_Import, (PyObject *)) \
  X(PyObject *, PyImport_AddModule, (const char *)) \
  X(PyObject *, PyImport_GetModule, (PyObject *)) \
  X(PyObject *, PyImport_GetModuleDict, (void)) \
  X(PyObject *, PyImport_ExecCodeModule, (const char *, PyObject *)) \
  X(PyObject *, PyModule_Create2, (PyModuleDef *, int)) \
  X(PyObject *, PyModule_GetDict, (PyObject *)) \
  X(void *, PyModule_GetState, (PyObject *)) \
  X(int, PyModule_AddObjectRef, (PyObject *, const char *, PyObject *)) \
  X(int, PyModule_AddObject, (PyObject *, const char *, PyObject *)) \
  X(int, PyModule_AddIntConstant, (PyObject *, const char *, long)) \
  X(int, PyModule_AddStringConstant, (PyObject *, const char *, const char *)) \
  X(PyObject *, PyErr_Occurred, (void)) \
  X(void, PyErr_Fetch, (PyObject **, PyObject **, PyObject **)) \
  X(void, PyErr_Restore, (PyObject *, PyObject *, PyObject *)) \
  X(void, PyErr_NormalizeException, (PyObject **, PyObject **, PyObject **)) \
  X(void, PyErr_GetExcInfo, (PyObject **, PyObject **, PyObject **)) \
  X(void, PyErr_SetExcInfo, (PyObject *, PyObject *, PyObject *)) \
  X(void, PyErr_Clear, (void)) \
  X(void, PyErr_SetString, (PyObject *, const char *)) \
  X(void, PyErr_SetObject, (PyObject *, PyObject *)) \
  X(void, PyErr_SetNone, (PyObject *)) \
  X(PyObject *, PyErr_Format, (PyObject *, const char *, ...)) \
  X(PyObject *, PyErr_NoMemory, (void)) \
  X(PyObject *, PyErr_SetFromErrno, (PyObject *)) \
  X(PyObject *, PyErr_SetFromErrnoWithFilename, (PyObject *, const char *)) \
  X(int, PyErr_ExceptionMatches, (PyObject *)) \
  X(int, PyErr_GivenExceptionMatches, (PyObject *, PyObject *)) \
  X(int, PyErr_CheckSignals, (void)) \
  X(void, PyErr_SetInterrupt, (void)) \
  X(int, PyErr_SetInterruptEx, (int)) \
  X(PyObject *, PyErr_NewException, (const char *, PyObject *, PyObject *)) \
  X(PyObject *, PyErr_NewExceptionWithDoc, (const char *, const char *, PyObject *, PyObject *)) \
  X(void, PyErr_WriteUnraisable, (PyObject *)) \
  X(void, PyErr_Print, (void)) \
  X(void, PyErr_PrintEx, (int)) \
  X(int, PyErr_WarnEx, (PyObject *, const char *, Py_ssize_t)) \
  X(int, PyException_SetTraceback, (PyObject *, PyObject *)) \
  X(PyObject *, PyException_GetTraceback, (PyObject *)) \
  X(PyObject *, PyException_GetCause, (PyObject *)) \
  X(PyObject *, PyException_GetContext, (PyObject *)) \
  X(void, PyException_SetCause, (PyObject *, PyObject *)) \
  X(void, PyException_SetContext, (PyObject *, PyObject *)) \
  X(int, PyTraceBack_Print, (PyObject *, PyObject *)) \
  X(void, Py_IncRef, (PyObject *)) \
  X(void, Py_DecRef, (PyObject *)) \
  X(PyObject *, PyObject_Call, (PyObject *, PyObject *, PyObject *)) \
  X(PyObject *, PyObject_CallObject, (PyObject *, PyObject *)) \
  X(PyObject *, PyObject_CallNoArgs, (PyObject *)) \
  X(PyObject *, PyObject_CallFunctionObjArgs, (PyObject *, ...)) \
  X(PyObject *, PyObject_CallMethodObjArgs, (PyObject *, PyObject *, ...)) \
  X(PyObject *, PyObject_VectorcallDict, (PyObject *, PyObject *const *, size_t, PyObject *)) \
  X(PyObject *, PyObject_VectorcallMethod, (PyObject *, PyObject *const *, size_t, PyObject *)) \
  X(PyObject *, PyObject_GetAttr, (PyObject *, PyObject *)) \
  X(PyObject *, PyObject_GetAttrString, (PyObject *, const char *)) \
  X(int, PyObject_SetAttr, (PyObject *, PyObject *, PyObject *)) \
  X(int, PyObject_SetAttrString, (PyObject *, const char *, PyObject *)) \
  X(int, PyObject_HasAttr, (PyObject *, PyObject *)) \
  X(int, PyObject_HasAttrString, (PyObject *, const char *)) \
  X(PyObject *, PyObject_GenericGetAttr, (PyObject *, PyObject *)) \
  X(PyObject *, PyObject_GetItem, (PyObject *, PyObject *)) \
  X(int, PyObject_SetItem, (PyObject *, PyObject *, PyObject *)) \
  X(int, PyObject_DelItem, (PyObject *, PyObject *)) \
  X(int, PyObject_IsTrue, (PyObject *)) \
  X(PyObject *, PyObject_Str, (PyObject *)) \
  X(PyObject *, PyObject_Repr, (PyObject *)) \
  X(PyObject *, PyObject_ASCII, (PyObject *)) \
  X(PyObject *, PyObject_Bytes, (PyObject *)) \
  X(PyObject *, PyObject_Dir, (PyObject *)) \
  X(PyObject *, PyObject_Type, (PyObject *)) \
  X(PyObject *, PyObject_GetIter, (PyObject *)) \
  X(int, PyObject_IsInstance, (PyObject *, PyObject *)) \
  X(int, PyObject_IsSubclass, (PyObject *, PyObject *)) \
  X(PyObject *, PyObject_RichCompare, (PyObject *, PyObject *, int)) \
  X(int, PyObject_RichCompareBool, (PyObject *, PyObject *, int)) \
  X(Py_hash_t, PyObject_Hash, (PyObject *)) \
  X(Py_ssize_t, PyObject_Size, (PyObject *)) \
  X(int, PyObject_GetBuffer, (PyObject *, Py_buffer *, int)) \
  X(int, PyObject_CheckBuffer, (PyObject *)) \
  X(void, PyBuffer_Release, (Py_buffer *)) \
  X(int, PyBuffer_FillInfo, (Py_buffer *, PyObject *, void *, Py_ssize_t, int, int)) \
  X(PyObject *, PyMemoryView_FromMemory, (char *, Py_ssize_t, int)) \
  X(PyObject *, PyMemoryView_FromObject, (PyObject *)) \
  X(int, PyObject_AsFileDescriptor, (PyObject *)) \
  X(int, PyCallable_Check, (PyObject *)) \
  X(int, PyIter_Check, (PyObject *)) \
  X(PyObject *, PyIter_Next, (PyObject *)) \
  X(int, PyIter_Send, (PyObject *, PyObject *, PyObject **)) \
  X(unsigned long, PyType_GetFlags, (PyTypeObject *)) \
  X(int, PyType_IsSubtype, (PyTypeObject *, PyTypeObject *)) \
  X(int, PyType_Ready, (PyTypeObject *)) \
  X(PyObject *, PyType_FromSpec, (PyType_Spec *)) \
  X(void *, PyType_GetSlot, (PyTypeObject *, int)) \
  X(PyObject *, PyType_GenericAlloc, (PyTypeObject *, Py_ssize_t)) \
  X(void, PyObject_Free, (void *)) \
  X(void, PyObject_GC_UnTrack, (void *)) \
  X(Py_ssize_t, PyGC_Collect, (void)) \
  X(int, PyGC_Enable, (void)) \
  X(int, PyGC_Disable, (void)) \
  X(PyObject *, PyCFunction_NewEx, (PyMethodDef *, PyObject *, PyObject *)) \
  X(PyObject *, PyCapsule_New, (void *, const char *, PyCapsule_Destructor)) \
  X(void *, PyCapsule_GetPointer, (PyObject *, const char *)) \
  X(int, PySequence_Check, (PyObject *)) \
  X(Py_ssize_t, PySequence_Size, (PyObject *)) \
  X(PyObject *, PySequence_GetItem, (PyObject *, Py_ssize_t)) \
  X(int, PySequence_Contains, (PyObject *, PyObject *)) \
  X(PyObject *, PySequence_List, (PyObject *)) \
  X(PyObject *, PySequence_Tuple, (PyObject *)) \
  X(PyObject *, PySequence_Fast, (PyObject *, const char *)) \
  X(int, PyMapping_Check, (PyObject *)) \
  X(PyObject *, PyMapping_Items, (PyObject *)) \
  X(PyObject *, PyMapping_Keys, (PyObject *)) \
  X(PyObject *, PyMapping_Values, (PyObject *)) \
  X(PyObject *, PyDict_New, (void)) \
  X(PyObject *, PyDict_Copy, (PyObject *)) \
  X(void, PyDict_Clear, (PyObject *)) \
  X(Py_ssize_t, PyDict_Size, (PyObject *)) \
  X(int, PyDict_Next, (PyObject *, Py_ssize_t *, PyObject **, PyObject **)) \
  X(int, PyDict_Contains, (PyObject *, PyObject *)) \
  X(PyObject *, PyDict_GetItemWithError, (PyObject *, PyObject *)) \
  X(PyObject *, PyDict_GetItemString, (PyObject *, const char *)) \
  X(int, PyDict_SetItem, (PyObject *, PyObject *, PyObject *)) \
  X(int, PyDict_SetItemString, (PyObject *, const char *, PyObject *)) \
  X(PyObject *, PyDict_SetDefault, (PyObject *, PyObject *, PyObject *)) \
  X(int, PyDict_DelItem, (PyObject *, PyObject *)) \
  X(int, PyDict_DelItemString, (PyObject *, const char *)) \
  X(int, PyDict_Update, (PyObject *, PyObject *)) \
  X(int, PyDict_Merge, (PyObject *, PyObject *, int)) \
  X(PyObject *, PyDict_Items, (PyObject *)) \
  X(PyObject *, PyDict_Keys, (PyObject *)) \
  X(PyObject *, PyDict_Values, (PyObject *)) \
  X(PyObject *, PyList_New, (Py_ssize_t)) \
  X(Py_ssize_t, PyList_Size, (PyObject *)) \
  X(PyObject *, PyList_GetItem, (PyObject *, Py_ssize_t)) \
  X(int, PyList_SetItem, (PyObject *, Py_ssize_t, PyObject *)) \
  X(int, PyList_Insert, (PyObject *, Py_ssize_t, PyObject *)) \
  X(int, PyList_Append, (PyObject *, PyObject *)) \
  X(PyObject *, PyList_GetSlice, (PyObject *, Py_ssize_t, Py_ssize_t)) \
  X(int, PyList_SetSlice, (PyObject *, Py_ssize_t, Py_ssize_t, PyObject *)) \
  X(int, PyList_Sort, (PyObject *)) \
  X(int, PyList_Reverse, (PyObject *)) \
  X(PyObject *, PyList_AsTuple, (PyObject *)) \
  X(PyObject *, PyTuple_New, (Py_ssize_t)) \
  X(Py_ssize_t, PyTuple_Size, (PyObject *)) \
  X(PyObject *, PyTuple_GetItem, (PyObject *, Py_ssize_t)) \
  X(int, PyTuple_SetItem, (PyObject *, Py_ssize_t, PyObject *)) \
  X(PyObject *, PyTuple_GetSlice, (PyObject *, Py_ssize_t, Py_ssize_t)) \
  X(PyObject *, PyTuple_Pack, (Py_ssize_t, ...)) \
  X(PyObject *, PySet_New, (PyObject *)) \
  X(int, PySet_Add, (PyObject *, PyObject *)) \
  X(int, PySet_Contains, (PyObject *, PyObject *)) \
  X(int, PySet_Discard, (PyObject *, PyObject *)) \
  X(Py_ssize_t, PySet_Size, (PyObject *)) \
  X(PyObject *, PyUnicode_FromString, (const char *)) \
  X(PyObject *, PyUnicode_FromStringAndSize, (const char *, Py_ssize_t)) \
  X(PyObject *, PyUnicode_FromFormat, (const char *, ...)) \
  X(PyObject *, PyUnicode_FromOrdinal, (int)) \
  X(PyObject *, PyUnicode_InternFromString, (const char *)) \
  X(void, PyUnicode_InternInPlace, (PyObject **)) \
  X(PyObject *, PyUnicode_DecodeUTF8, (const char *, Py_ssize_t, const char *)) \
  X(PyObject *, PyUnicode_DecodeASCII, (const char *, Py_ssize_t, const char *)) \
  X(PyObject *, PyUnicode_DecodeLatin1, (const char *, Py_ssize_t, const char *)) \
  X(PyObject *, PyUnicode_DecodeFSDefault, (const char *)) \
  X(PyObject *, PyUnicode_DecodeFSDefaultAndSize, (const char *, Py_ssize_t)) \
  X(PyObject *, PyUnicode_EncodeFSDefault, (PyObject *)) \
  X(PyObject *, PyUnicode_AsUTF8String, (PyObject *)) \
  X(PyObject *, PyUnicode_AsEncodedString, (PyObject *, const char *, const char *)) \
  X(const char *, PyUnicode_AsUTF8AndSize, (PyObject *, Py_ssize_t *)) \
  X(const char *, PyUnicode_AsUTF8, (PyObject *)) \
  X(Py_ssize_t, PyUnicode_GetLength, (PyObject *)) \
  X(Py_UCS4, PyUnicode_ReadChar, (PyObject *, Py_ssize_t)) \
  X(PyObject *, PyUnicode_Concat, (PyObject *, PyObject *)) \
  X(PyObject *, PyUnicode_Join, (PyObject *, PyObject *)) \
  X(PyObject *, PyUnicode_Split, (PyObject *, PyObject *, Py_ssize_t)) \
  X(PyObject *, PyUnicode_Substring, (PyObject *, Py_ssize_t, Py_ssize_t)) \
  X(PyObject *, PyUnicode_Format, (PyObject *, PyObject *)) \
  X(int, PyUnicode_Compare, (PyObject *, PyObject *)) \
  X(int, PyUnicode_CompareWithASCIIString, (PyObject *, const char *)) \
  X(int, PyUnicode_Contains, (PyObject *, PyObject *)) \
  X(int, PyUnicode_FSConverter, (PyObject *, void *)) \
  X(PyObject *, PyBytes_FromString, (const char *)) \
  X(PyObject *, PyBytes_FromStringAndSize, (const char *, Py_ssize_t)) \
  X(char *, PyBytes_AsString, (PyObject *)) \
  X(int, PyBytes_AsStringAndSize, (PyObject *, char **, Py_ssize_t *)) \
  X(Py_ssize_t, PyBytes_Size, (PyObject *)) \
  X(PyObject *, PyByteArray_FromStringAndSize, (const char *, Py_ssize_t)) \
  X(int, PyByteArray_Resize, (PyObject *, Py_ssize_t)) \
  X(char *, PyByteArray_AsString, (PyObject *)) \
  X(Py_ssize_t, PyByteArray_Size, (PyObject *)) \
  X(PyObject *, PyBool_FromLong, (long)) \
  X(PyObject *, PyLong_FromLong, (long)) \
  X(PyObject *, PyLong_FromUnsignedLong, (unsigned long)) \
  X(PyObject *, PyLong_FromLongLong, (long long)) \
  X(PyObject *, PyLong_FromUnsignedLongLong, (unsigned long long)) \
  X(PyObject *, PyLong_FromSsize_t, (Py_ssize_t)) \
  X(PyObject *, PyLong_FromSize_t, (size_t)) \
  X(PyObject *, PyLong_FromDouble, (double)) \
  X(PyObject *, PyLong_FromVoidPtr, (void *)) \
  X(PyObject *, PyLong_FromString, (const char *, char **, int)) \
  X(long, PyLong_AsLong, (PyObject *)) \
  X(long, PyLong_AsLongAndOverflow, (PyObject *, int *)) \
  X(long long, PyLong_AsLongLong, (PyObject *)) \
  X(long long, PyLong_AsLongLongAndOverflow, (PyObject *, int *)) \
  X(unsigned long, PyLong_AsUnsignedLong, (PyObject *)) \
  X(unsigned long long, PyLong_AsUnsignedLongLong, (PyObject *)) \
  X(Py_ssize_t, PyLong_AsSsize_t, (PyObject *)) \
  X(size_t, PyLong_AsSize_t, (PyObject *)) \
  X(double, PyLong_AsDouble, (PyObject *)) \
  X(void *, PyLong_AsVoidPtr, (PyObject *)) \
  X(PyObject *, PyFloat_FromDouble, (double)) \
  X(PyObject *, PyFloat_FromString, (PyObject *)) \
  X(double, PyFloat_AsDouble, (PyObject *)) \
  X(PyObject *, PyNumber_Add, (PyObject *, PyObject *)) \
  X(PyObject *, PyNumber_Subtract, (PyObject *, PyObject *)) \
  X(PyObject *, PyNumber_Multiply, (PyObject *, PyObject *)) \
  X(PyObject *, PyNumber_FloorDivide, (PyObject *, PyObject *)) \
  X(PyObject *, PyNumber_Divmod, (PyObject *, PyObject *)) \
  X(PyObject *, PyNumber_Power, (PyObject *, PyObject *, PyObject *)) \
  X(PyObject *, PyNumber_Negative, (PyObject *)) \
  X(PyObject *, PyNumber_Absolute, (PyObject *)) \
  X(PyObject *, PyNumber_Index, (PyObject *)) \
  X(PyObject *, PyNumber_Long, (PyObject *)) \
  X(PyObject *, PyNumber_Float, (PyObject *)) \
  X(PyObject *, PyNumber_ToBase, (PyObject *, int)) \
  X(int, PyNumber_Check, (PyObject *)) \
  X(int, PyIndex_Check, (PyObject *)) \
  X(void *, PyMem_Malloc, (size_t)) \
  X(void *, PyMem_Realloc, (void *, size_t)) \
  X(void, PyMem_Free, (void *)) \
  X(void *, PyMem_RawMalloc, (size_t)) \
  X(void *, PyMem_RawRealloc, (void *, size_t)) \
  X(void, PyMem_RawFree, (void *)) \
  X(wchar_t *, Py_DecodeLocale, (const char *, size_t *)) \
  X(char *, Py_EncodeLocale, (const wchar_t *, size_t *)) \
  X(PyObject *, PyContextVar_New, (const char *, PyObject *)) \
  X(int, PyContextVar_Get, (PyObject *, PyObject *, PyObject **)) \
  X(PyObject *, PyContextVar_Set, (PyObject *, PyObject *)) \
  X(int, PyContextVar_Reset, (PyObject *, PyObject *)) \
  X(PyObject *, PyContext_CopyCurrent, (void)) \
  X(int, PyContext_Enter, (PyObject *)) \
  X(int, PyContext_Exit, (PyObject *))

// Functions with a "#" format: before 3.13 the plain symbol takes an int where
// it is told of a length and refuses such formats, and _NAME_SizeT is the one
// that Python.h calls. The slot holds the latter wherever there is one.
#define CPY3_FUNCS_SIZE_T(X) \
  X(int, PyArg_ParseTuple, (PyObject *, const char *, ...)) \
  X(int, PyArg_ParseTupleAndKeywords, (PyObject *, PyObject *, const char *, char **, ...)) \
  X(PyObject *, Py_BuildValue, (const char *, ...)) \
  X(PyObject *, PyObject_CallFunction, (PyObject *, const char *, ...)) \
  X(PyObject *, PyObject_CallMethod, (PyObject *, const char *, const char *, ...))

// Functions of some versions only; test the slot before the call.
#define CPY3_FUNCS_OPTIONAL(X) \
  X(void, PyErr_Display, (PyObject *, PyObject *, PyObject *)) \
  X(PyObject *, PyObject_Vectorcall, (PyObject *, PyObject *const *, size_t, PyObject *)) \
  X(PyObject *, PyObject_CallOneArg, (PyObject *, PyObject *)) \
  X(PyObject *, PyErr_GetRaisedException, (void)) \
  X(void, PyErr_SetRaisedException, (PyObject *)) \
  X(PyObject *, PyErr_GetHandledException, (void)) \
  X(void, PyErr_DisplayException, (PyObject *)) \
  X(int, PyObject_GetOptionalAttr, (PyObject *, PyObject *, PyObject **)) \
  X(int, PyDict_GetItemRef, (PyObject *, PyObject *, PyObject **)) \
  X(int, PyIter_NextItem, (PyObject *, PyObject **)) \
  X(PyObject *, PyType_GetName, (PyTypeObject *)) \
  X(PyObject *, PyType_GetQualName, (PyTypeObject *)) \
  X(PyObject *, PyType_GetModuleName, (PyTypeObject *)) \
  X(PyObject *, PyType_GetFullyQualifiedName, (PyTypeObject *)) \
  X(int, PyUnicode_EqualToUTF8AndSize, (PyObject *, const char *, Py_ssize_t)) \
  X(int, Py_IsFinalizing, (void))

#define CPY3_TYPES(X) \
  X(PyType_Type) \
  X(PyBaseObject_Type) \
  X(PyUnicode_Type) \
  X(PyBytes_Type) \
  X(PyByteArray_Type) \
  X(PyMemoryView_Type) \
  X(PyLong_Type) \
  X(PyBool_Type) \
  X(PyFloat_Type) \
  X(PyComplex_Type) \
  X(PyList_Type) \
  X(PyTuple_Type) \
  X(PyDict_Type) \
  X(PySet_Type) \
  X(PyFrozenSet_Type) \
  X(PyGen_Type) \
  X(PyCoro_Type) \
  X(PyAsyncGen_Type) \
  X(PyFunction_Type) \
  X(PyMethod_Type) \
  X(PyCFunction_Type) \
  X(PyModule_Type) \
  X(PyCapsule_Type) \
  X(PyContextVar_Type)

#define CPY3_CONSTANTS(X) \
  X(Py_None, _Py_NoneStruct) \
  X(Py_True, _Py_TrueStruct) \
  X(Py_False, _Py_FalseStruct) \
  X(Py_Ellipsis, _Py_EllipsisObject) \
  X(Py_NotImplemented, _Py_NotImplementedStruct)

#define CPY3_EXCEPTIONS(X) \
  X(PyExc_BaseException) \
  X(PyExc_Exception) \
  X(PyExc_ArithmeticError) \
  X(PyExc_AssertionError) \
  X(PyExc_AttributeError) \
  X(PyExc_BlockingIOError) \
  X(PyExc_BrokenPipeError) \
  X(PyExc_BufferError) \
  X(PyExc_ConnectionError) \
  X(PyExc_EOFError) \
  X(PyExc_FileNotFoundError) \
  X(PyExc_GeneratorExit) \
  X(PyExc_ImportError) \
  X(PyExc_IndexError) \
  X(PyExc_InterruptedError) \
  X(PyExc_KeyError) \
  X(PyExc_KeyboardInterrupt) \
  X(PyExc_LookupError) \
  X(PyExc_MemoryError) \
  X(PyExc_ModuleNotFoundError) \
  X(PyExc_NotImplementedError) \
  X(PyExc_OSError) \
  X(PyExc_OverflowError) \
  X(PyExc_RecursionError) \
  X(PyExc_RuntimeError) \
  X(PyExc_StopAsyncIteration) \
  X(PyExc_StopIteration) \
  X(PyExc_SyntaxError) \
  X(PyExc_SystemError) \
  X(PyExc_SystemExit) \
  X(PyExc_TimeoutError) \
  X(PyExc_TypeError) \
  X(PyExc_UnicodeDecodeError) \
  X(PyExc_UnicodeEncodeError) \
  X(PyExc_ValueError) \
  X(PyExc_DeprecationWarning) \
  X(PyExc_RuntimeWarning) \
  X(PyExc_UserWarning)

#endif
