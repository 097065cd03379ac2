#pragma once

/// Makes a class that keyed archives call `name`, to be answered by `classForKeyedArchiver`.
///
/// Foundation writes an object's class into an archive as `NSStringFromClass(object.classForKeyedArchiver)`. On Linux
/// that is "Module.Class" for every class outside Foundation (and stops the program for a nested one such as
/// `CKRecord.ID`), and `NSKeyedArchiver.setClassName(_:for:)` changes nothing: it stores the name under
/// `String(describing: type(of: cls))` ("ID.Type"), and the archiver looks under `String(reflecting: cls)`
/// ("CloudKit.CKRecord.ID"). Foundation's own classes are written as they are, so the class that this function makes
/// is one of Foundation's by name: a copy of `model` whose type descriptor says `name`, in the module Foundation. It
/// stands for a name in archives and is never instantiated.
///
/// `model` is the metadata of a Swift class that derives from `superclass` directly, `model_name` its name;
/// `superclass` becomes the class's superclass in the archive. The memory is never given back. Returns NULL where the
/// metadata does not look as this function expects it, as a future Swift could have it: names in archives are then
/// Foundation's own.
const void *cloudkit_make_archived_class(const void *model, const void *superclass, const char *model_name,
                                         const void *archived_superclass, const char *name);
