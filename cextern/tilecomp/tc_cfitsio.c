#include "tc_cfitsio.h"

#ifndef TC_WITHOUT_CFITSIO
#include <fitsio.h>

uint32_t tc_cfitsio_version(void)
{
    return CFITSIO_MAJOR * 10000u + CFITSIO_MINOR * 100u + CFITSIO_MICRO;
}

#else

uint32_t tc_cfitsio_version(void)
{
    return 0;
}

#endif
