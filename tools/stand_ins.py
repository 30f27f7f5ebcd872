"""Stand-ins for packages that are not installed, so that the configuration code of trainers can be
imported on a machine without PyTorch. What is installed is used as it is.

A stand-in has every attribute, can be called, subclassed and used as a decorator; nothing that it
returns means anything. What the trainers' checks ask of PyTorch (versions, dtypes, devices) is
answered as by PyTorch 2.9 on an H100.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
import types
import typing


class _Meta(type(typing.Protocol)):
    def __getattr__(cls, name):
        if name.startswith(("__", "_is_")):  # typing asks for _is_protocol since Python 3.12
            raise AttributeError(name)
        made = _class(f"{cls.__name__}.{name}")
        setattr(cls, name, made)
        return made

    def __call__(cls, *args, **kwargs):
        plain = cls.__dict__.get("_is_stand_in", False)
        if plain and len(args) == 1 and not kwargs and _is_definition(args[0]):
            return args[0]  # used as a decorator
        return super().__call__(*args, **kwargs)

    def __iter__(cls):
        return iter(())

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance)


def _is_definition(value):
    return isinstance(value, (types.FunctionType, type)) and not getattr(value, "_is_stand_in", 0)


class StandIn(metaclass=_Meta):
    def __init__(self, *args, **kwargs):
        pass

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__()

    def __class_getitem__(cls, item):
        return cls

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and _is_definition(args[0]):
            return args[0]
        return StandIn()

    def __iter__(self):
        return iter(())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def __getitem__(self, key):
        return StandIn()

    def __bool__(self):
        return False

    def __int__(self):
        return 0

    def __lt__(self, other):
        return False

    __le__ = __gt__ = __ge__ = __lt__

    def __len__(self):
        return 0

    def _operator(self, *_):
        return StandIn()

    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = __floordiv__ = _operator
    __setitem__ = _operator


def _class(name):
    return _Meta(name.rpartition(".")[2], (StandIn,), {"_is_stand_in": True, "__module__": name})


class Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        if name == "__version__":
            return "2.9.0"
        full = f"{self.__name__}.{name}"
        if self.__path__:  # a package that is there: only what it lacks is made up
            try:
                return importlib.import_module(full)
            except ModuleNotFoundError as error:
                if error.name != full:
                    raise
        value = sys.modules.get(full) or _class(full)
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last; makes the named packages and all that is below them."""

    def __init__(self, packages):
        self.packages = set(packages)

    def find_spec(self, fullname, path=None, target=None):
        if any(fullname == name or fullname.startswith(name + ".") for name in self.packages):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        module = Module(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


class Dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


def stand_in_for(packages):
    """Of the packages those that are missing. Returns their names."""
    if not hasattr(typing, "override"):  # since Python 3.12
        typing.override = lambda function: function
    if "packaging" in packages and importlib.util.find_spec("packaging") is None:
        for name in ("", ".version", ".requirements", ".specifiers"):  # pip brings its own
            module = importlib.import_module("pip._vendor.packaging" + name)
            sys.modules["packaging" + name] = module
    if importlib.util.find_spec("hjson") is None:  # a JSON file reads the same
        import json
        sys.modules["hjson"] = json
    missing = [name for name in packages if name not in sys.modules and
               importlib.util.find_spec(name) is None]
    sys.meta_path.append(_Finder(missing))
    if "torch" in missing:
        _torch()
    if "pydantic" in missing:
        _pydantic()
    return missing


def hide(name):
    """A stand-in for a module that is there, but is not to be imported."""
    sys.meta_path.insert(0, _Finder([name]))


def _torch():
    import torch
    import torch.cuda
    import torch.distributed
    import torch.library
    import torch.nn
    import torch.nn.modules
    import torch.version

    torch.__version__ = "2.9.0"
    for name in ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32",
                 "int64", "bool", "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"):
        setattr(torch, name, Dtype(name))
    for short, name in (("float", "float32"), ("half", "float16"), ("long", "int64"),
                        ("int", "int32"), ("double", "float64")):
        setattr(torch, short, getattr(torch, name))
    torch.dtype = Dtype
    torch.distributed.is_initialized = lambda: False
    torch.distributed.is_available = lambda: True
    torch.distributed.get_rank = lambda group=None: 0
    torch.distributed.get_world_size = lambda group=None: 1
    torch.library.custom_op = lambda *_, **__: lambda function: StandIn()
    torch.library.triton_op = torch.library.custom_op
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: 8
    torch.cuda.get_device_capability = lambda device=None: (9, 0)
    torch.cuda.get_device_properties = lambda device=None: types.SimpleNamespace(
        major=9, minor=0, total_memory=80 << 30, name="H100")
    torch.cuda.get_arch_list = lambda: ["sm_90"]
    torch.version.hip = None
    torch.version.cuda = "12.8"

    class NnModule(StandIn):
        def __init__(self, *args, **kwargs):
            self.__dict__["_modules"] = {}

        def parameters(self, recurse=True):
            return iter(())

        def add_module(self, name, module):
            self._modules[name] = module

        def to(self, *args, **kwargs):
            return self

    torch.nn.Module = NnModule
    torch.nn.modules.Module = NnModule
    torch.nn.ModuleDict = dict


def _pydantic():
    """As much of pydantic 2 as DeepSpeed's configuration needs: fields by annotation, their
    defaults, no others, and the validators."""
    import enum

    import pydantic

    class FieldInfo:
        def __init__(self, default=..., default_factory=None, **rest):
            self.default, self.default_factory = default, default_factory
            self.alias = rest.get("alias")
            self.json_schema_extra = rest.get("json_schema_extra") or {}
            self.bounds = {key: rest[key] for key in ("ge", "gt", "le", "lt") if key in rest}
            self.annotation = None
            self.metadata = []

        def get_default(self):
            return self.default_factory() if self.default_factory else self.default

    def validator(*fields, mode="after", **_):
        def mark(function):
            target = function.__func__ if isinstance(function, (classmethod, staticmethod)) else (
                function)
            target._validates = (fields, mode)
            return function
        return mark

    def converted(value, kind):
        origin = typing.get_origin(kind)
        if origin is typing.Union or origin is types.UnionType:
            choices = typing.get_args(kind)
            if value is None and type(None) in choices:
                return None
            for choice in choices:
                try:
                    return converted(value, choice)
                except (TypeError, ValueError):
                    continue
            raise ValueError(f"{value!r} is none of {choices}")
        if origin is typing.Literal:
            if value not in typing.get_args(kind):
                raise ValueError(f"{value!r} is none of {typing.get_args(kind)}")
            return value
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return kind(value)
        if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, dict):
            return kind(**value)
        if kind is bool and not isinstance(value, bool):
            raise ValueError(f"{value!r} is no boolean")
        if kind is int and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise ValueError(f"{value!r} is no number")
        if kind is str and not isinstance(value, str):
            raise ValueError(f"{value!r} is no string")
        return value

    class BaseModel:
        def __init_subclass__(cls, **kwargs):
            super().__init_subclass__()
            fields = dict(getattr(cls, "model_fields", {}))
            for name, kind in cls.__dict__.get("__annotations__", {}).items():
                given = cls.__dict__.get(name, ...)
                field = given if isinstance(given, FieldInfo) else FieldInfo(given)
                field.annotation = kind
                fields[name] = field
            cls.model_fields = fields

        def __init__(self, **given):
            own = type(self)
            for function in self._validators("before"):
                given = function(given)
            hints = typing.get_type_hints(own)
            by_alias = {field.alias: name for name, field in own.model_fields.items() if field.alias}
            self.model_fields_set = set()
            for key, value in given.items():
                name = by_alias.get(key, key)
                if name not in own.model_fields:
                    raise ValueError(f"{own.__name__} has no field {key!r}")
                value = converted(value, hints.get(name, typing.Any))
                for bound, limit in own.model_fields[name].bounds.items():
                    ok = {"ge": value >= limit, "gt": value > limit, "le": value <= limit,
                          "lt": value < limit}[bound]
                    if not ok:
                        raise ValueError(f"{own.__name__}.{key}: {value} is out of bounds")
                object.__setattr__(self, name, value)
                self.model_fields_set.add(name)
            for name, field in own.model_fields.items():
                if name in self.model_fields_set:
                    continue
                value = field.get_default()
                if value is ...:
                    raise ValueError(f"{own.__name__} needs a {name!r}")
                object.__setattr__(self, name, value)
            for function in self._validators("after"):
                function(self)

        def _validators(self, mode):
            own = type(self)
            for name in dir(own):
                plain = getattr(own, name, None)
                function = getattr(plain, "__func__", plain)
                fields, when = getattr(function, "_validates", (None, None))
                if when != mode or fields:
                    continue
                if mode == "before":
                    yield plain if hasattr(plain, "__self__") else function.__get__(own)
                else:
                    yield function

        def model_dump(self, **_):
            return {name: getattr(self, name) for name in type(self).model_fields}

        def dict(self, **rest):
            return self.model_dump(**rest)

    pydantic.BaseModel = BaseModel
    pydantic.Field = FieldInfo
    pydantic.ConfigDict = dict
    pydantic.model_validator = validator
    pydantic.field_validator = validator
    pydantic.field_serializer = validator
    pydantic.fields.FieldInfo = FieldInfo


def version_of(text):
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])
