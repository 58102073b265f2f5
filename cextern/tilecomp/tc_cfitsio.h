/* The system's libcfitsio behind the same entry points as our own kernels: the reference engine.
 *
 * Its functions trust their input (see each call in tc_cfitsio.c); here every stream is checked before the call, copied
 * to a padded buffer where the function does not know its length, and held against what was expected after it.  A function
 * returns the same status as the kernel of the same name would.  `used` may be NULL; on success it gets the number of
 * bytes of `src` that the tile took.  Safe on many threads: calls are locked where libcfitsio is not reentrant.
 * In a build with TC_WITHOUT_CFITSIO every function here returns TC_UNSUPPORTED. */
#ifndef TC_CFITSIO_H
#define TC_CFITSIO_H

#include <stddef.h>
#include <stdint.h>

#include "tc_status.h"

/* Version of the library in use as major * 10000 + minor * 100 + micro, e.g. 40200; 0: built without it. */
uint32_t tc_cfitsio_version(void);

#endif
