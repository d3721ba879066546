// A Vector as a Python list, and any sequence as a Vector.
#pragma once

#include <nanobind/stl/detail/nb_list.h>

#include "base/vector.hpp"

template <class T>
struct nanobind::detail::type_caster<yantra::Vector<T>> : list_caster<yantra::Vector<T>, T> {};
